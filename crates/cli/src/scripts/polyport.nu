# Completion of polyport for Nushell. Save it once (polyport completion nushell | save polyport.nu), and in config.nu: source polyport.nu
let polyport_others = $env.config.completions.external.completer?
$env.config.completions.external = {
    enable: true
    max_results: 500
    completer: {|spans|
        if $spans.0 != "polyport" {
            return (if $polyport_others == null { null } else { do $polyport_others $spans })
        }
        let found = (^polyport __complete nushell ...($spans | skip 1) | lines)
        if ($found | is-empty) { return null }
        $found | each {|line|
            let parts = ($line | split row --number 2 (char tab))
            { value: $parts.0, description: ($parts.1? | default "") }
        }
    }
}
