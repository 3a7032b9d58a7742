# Completion of polyport for PowerShell. In $PROFILE:  polyport completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName polyport -ScriptBlock {
    param($word, $ast, $cursor)
    $words = @($ast.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.StartOffset -lt $cursor } |
        ForEach-Object { if ($_ -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $_.Value } else { $_.Extent.Text } })
    if ($word -eq '') { $words += '""' }
    $polyport = $ast.CommandElements[0].Extent.Text
    & $polyport __complete powershell @words 2>$null | ForEach-Object {
        $text, $about = $_ -split "`t", 2
        if (-not $about) { $about = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $about)
    }
}
