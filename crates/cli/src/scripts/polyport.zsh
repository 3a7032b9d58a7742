#compdef polyport
# Completion of polyport for zsh. In ~/.zshrc, after compinit:  source <(polyport completion zsh)
_polyport() {
    local line
    local -a open closed
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        if [[ $line == *= ]]; then open+=("$line"); else closed+=("$line"); fi
    done < <(${(Q)words[1]} __complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#open} + ${#closed} == 0 )); then
        _files
        return
    fi
    (( ${#closed} )) && compadd -a closed
    (( ${#open} )) && compadd -S '' -a open
}
compdef _polyport polyport
