# Completion of polyport for fish. In ~/.config/fish/config.fish:  polyport completion fish | source
function __polyport
    set -l words (commandline -opc)
    set -l found ($words[1] __complete fish $words[2..] (commandline -ct) 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c polyport -f -a '(__polyport)'
