/// The scripts by which shells complete command lines: each asks the tool itself, by `kiipush completions offer`.
enum CompletionScripts {
    static let bash = """
        # Completions of kiipush for bash; 'kiipush completions bash' makes them.
        _kiipush() {
            local kind current=${COMP_WORDS[COMP_CWORD]#=}
            { read -r kind; mapfile -t COMPREPLY; } < <(
                "${COMP_WORDS[0]}" completions offer "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
            COMPREPLY=("${COMPREPLY[@]%%$'\\t'*}")
            case $kind in
                files) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
                directories) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
                *) return ;;
            esac
            compopt -o filenames 2>/dev/null
        }
        complete -F _kiipush kiipush
        """

    static let zsh = """
        #compdef kiipush
        # Completions of kiipush for zsh; 'kiipush completions zsh' makes them.
        _kiipush() {
            local -a offered
            local tab=$'\\t'
            offered=("${(@f)$($words[1] completions offer "${(@)words[2,CURRENT]}" 2>/dev/null)}")
            [[ $PREFIX == --*=* ]] && compset -P '*='
            case $offered[1] in
                files) _files ;;
                directories) _files -/ ;;
                *)
                    offered=("${(@)offered[2,-1]/$tab/:}")
                    _describe kiipush offered
                    ;;
            esac
        }
        # Loaded from $fpath it completes at once; sourced it only says what it is for.
        if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _kiipush "$@"
        elif (( $+functions[compdef] )); then compdef _kiipush kiipush
        fi
        """

    static let fish = """
        # Completions of kiipush for fish; 'kiipush completions fish' makes them.
        function __kiipush_offer
            set -l typed (commandline -ct)
            set -l option (string match -r -- '^--[^=]*=' $typed)
            set -l value (string replace -r -- '^--[^=]*=' '' $typed)
            set -l offered (kiipush completions offer (commandline -opc)[2..-1] "$typed" 2>/dev/null)
            switch "$offered[1]"
                case files
                    __fish_complete_path "$value" | string replace -r '^' -- "$option"
                case directories
                    __fish_complete_directories "$value" | string replace -r '^' -- "$option"
                case '*'
                    set -e offered[1]
                    string replace -r '^' -- "$option" $offered
            end
        end
        complete -c kiipush -f -a '(__kiipush_offer)'
        """
}
