import type { Command } from 'commander';
import { wordsOf, type Flag, type Words } from './command-words.js';
import type { NameKind } from './names.command.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Flags behind which something is typed that nobody knows: neither names nor flags belong there. In every command that has them, or in some. */
function typedBehind(words: readonly Words[]): { readonly everywhere: string; readonly here: string } {
  const all = words.flatMap(({ options }) => options);
  const isFree = ({ valued, kind, choices }: Flag): boolean => valued && kind === undefined && choices.length === 0;
  const spelled = ({ flag, short }: Flag): string[] => (short === undefined ? [flag] : [flag, short]);
  const known = new Set(all.filter((option) => !isFree(option)).flatMap(spelled));
  const free = (own: Words): string[] => own.options.filter(isFree).flatMap(spelled);
  return {
    everywhere: [...new Set(words.flatMap(free))].filter((flag) => !known.has(flag)).join('|'),
    here: words.flatMap((own) => free(own).flatMap((flag) => (known.has(flag) ? [`"${own.path} ${flag}"`] : []))).join('|'),
  };
}

/** Leaves such a place to the shell. */
function unknown(words: readonly Words[], otherwise: string): string {
  const { everywhere, here } = typedBehind(words);
  return `  case "$previous" in ${everywhere}) ${otherwise} ;; esac
  case "$at $previous" in ${here}) ${otherwise} ;; esac`;
}

/** Flags of all commands whose values are known, with what they are. */
function valued(words: readonly Words[]): { readonly flags: string; readonly kind: NameKind | undefined; readonly choices: string }[] {
  const by = new Map<string, Flag>();
  for (const { options } of words) for (const option of options) if (option.kind !== undefined) by.set(option.flag, option);
  return [...by.values()].map(({ flag, short, kind }) => ({ flags: short === undefined ? flag : `${flag}|${short}`, kind, choices: '' }));
}

/** Of one command: flags whose values are choices. */
const chosen = ({ options }: Words): Flag[] => options.filter(({ choices }) => choices.length > 0);

export function completionScript(shell: Shell, root: Command): string {
  const words = wordsOf(root);
  return { bash, zsh, fish }[shell](root.name(), words);
}

const offer = (words: Words): string =>
  [...words.subcommands.map((sub) => sub.name), ...words.options.map((option) => option.flag)].join(' ');

/** Flags that are followed by their value, in any command. */
const followed = (words: readonly Words[], between: string): string =>
  [
    ...new Set(
      words.flatMap(({ options }) =>
        options.flatMap(({ flag, short, valued: takes }) => (takes ? [flag, ...(short === undefined ? [] : [short])] : [])),
      ),
    ),
  ].join(between);

/** Follows the typed words down the tree, and counts the arguments behind them. Readline takes words apart at `=` and `:`. */
function cases(words: readonly Words[]): string {
  const paths = words.slice(1).map((entry) => `      "${entry.path}") at="$next" place=0 ;;`);
  return `${paths.join('\n')}
      *) case "$word" in -*|"="*|:*) ;; *) case "$before" in ${followed(words, '|')}|"="|:) ;; *) place=$((place + 1)) ;; esac ;; esac ;;`;
}

/** What stands behind a flag whose values are names, or choices of the command. */
function values(words: readonly Words[]): string {
  const named = valued(words).map(({ flags, kind }) => `    ${flags}) kinds="${kind}" ;;`);
  const choices = words.flatMap((entry) =>
    chosen(entry).map(({ flag, short, choices: all }) => {
      const flags = [flag, ...(short === undefined ? [] : [short])].map((one) => `"${entry.path} ${one}"`).join('|');
      return `    ${flags}) choices="${all.join(' ')}" ;;`;
    }),
  );
  return `  case "$previous" in
${named.join('\n')}
  esac
  case "$at $previous" in
${choices.join('\n')}
  esac`;
}

/** What the argument at this place may be, or names. */
function named(words: readonly Words[]): string {
  const some = words
    .filter(({ names }) => names.length > 0)
    .map(({ path, names }) => `      "${path}") kinds="${[...new Set(names)].join(' ')}" ;;`);
  const few = words.flatMap(({ path, places }) =>
    places.map(({ place, choices }) => `      "${path} ${place}") choices="${choices.join(' ')}" ;;`),
  );
  return `    case "$at $place" in
${few.join('\n')}
    esac
    case "$at" in
${some.join('\n')}
    esac`;
}

function bash(name: string, words: readonly Words[]): string {
  return `# ${name} completion bash: put it into ~/.bashrc as: eval "$(${name} completion bash)"
_${name}_names() {
  local kind word rest n
  local -a typed=()
  # Readline takes words apart at these signs: --city=demo, http://127.0.0.1:8372.
  for ((n = 1; n < COMP_CWORD; n++)); do
    word="\${COMP_WORDS[n]}"
    if ((n > 1)) && [[ "$word" =~ ^[=:]+$ || "\${COMP_WORDS[n-1]}" =~ ^[=:]+$ ]]; then typed[\${#typed[@]}-1]+="$word"; else typed+=("$word"); fi
  done
  # Not by compgen, which expands the words that it is given: names come from other people.
  while IFS=$'\\t' read -r word rest; do
    if [[ "$word" == "$current"* ]]; then COMPREPLY+=("$word"); fi
  done < <(for kind in $kinds; do ${name} names "$kind" -- "\${typed[@]}" 2>/dev/null; done)
}
_${name}_complete() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at="${name}" word next before="" place=0 i kinds="" choices=""
  # --city=d comes as three words.
  if [[ "$current" == = && "$previous" == -* ]]; then current=""
  elif [[ "$previous" == = ]] && ((COMP_CWORD > 2)) && [[ "\${COMP_WORDS[COMP_CWORD-2]}" == -* ]]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="$at $word"
    case "$next" in
${cases(words)}
    esac
    before="$word"
  done
${values(words)}
  local IFS=$' \\t\\n'
  if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$current")); return; fi
  if [ -n "$kinds" ]; then _${name}_names; return; fi
${unknown(words, 'return')}
  case "$current" in -*) ;; *)
${named(words)}
    if [ -n "$choices" ]; then COMPREPLY=($(compgen -W "$choices" -- "$current")); return; fi
    if [ -n "$kinds" ]; then _${name}_names; return; fi
  ;; esac
  case "$at" in
${words.map((entry) => `    "${entry.path}") COMPREPLY=($(compgen -W "${offer(entry)}" -- "$current")) ;;`).join('\n')}
  esac
}
complete -o default -F _${name}_complete ${name}
`;
}

function zsh(name: string, words: readonly Words[]): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
  const described = (entry: Words): string =>
    [...entry.subcommands.map((s) => [s.name, s.about] as const), ...entry.options.map((o) => [o.flag, o.about] as const)]
      .map(([word, about]) => quoted(`${word}:${about}`))
      .join(' ');
  return `#compdef ${name}
# ${name} completion zsh: put it into ~/.zshrc as: source <(${name} completion zsh)
_${name}_offer() {
  local kind line
  local -a found
  for kind in \${=kinds}; do
    while IFS=$'\\t' read -r word line; do found+=("\${word//:/\\\\:}:$line"); done < <(${name} names "$kind" -- "\${(@)words[2,CURRENT-1]}" 2>/dev/null)
  done
  _describe '${name}' found
}
_${name}() {
  local at="${name}" previous="\${words[CURRENT-1]}" word next before="" place=0 i kinds="" choices=""
  local -a offered
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    next="$at $word"
    case "$next" in
${cases(words)}
    esac
    before="$word"
  done
${values(words)}
  if [[ -n "$choices" ]]; then offered=(\${=choices}); _describe '${name}' offered; return; fi
  if [[ -n "$kinds" ]]; then _${name}_offer; return; fi
${unknown(words, '_files; return')}
  if [[ "\${words[CURRENT]}" != -* ]]; then
${named(words)}
    if [[ -n "$choices" ]]; then offered=(\${=choices}); _describe '${name}' offered; return; fi
    if [[ -n "$kinds" ]]; then _${name}_offer; return; fi
  fi
  case "$at" in
${words.map((entry) => `    "${entry.path}") offered=(${described(entry)}) ;;`).join('\n')}
  esac
  _describe '${name}' offered || _files
}
compdef _${name} ${name}
`;
}

function fish(name: string, words: readonly Words[]): string {
  const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const namesOf = (kind: NameKind): string => `(${name} names ${kind} -- (commandline -opc)[2..] 2>/dev/null)`;
  const lines = words.flatMap((entry) => {
    const condition = `-n ${quoted(`__${name}_at ${entry.path}`)}`;
    const option = ({ flag, short, about, kind, choices, valued: takes }: Flag): string => {
      const known = kind !== undefined ? namesOf(kind) : choices.length > 0 ? choices.join(' ') : undefined;
      const value = known === undefined ? (takes ? ' -r' : '') : ` -x -a ${quoted(known)}`;
      return `complete -c ${name} ${condition} -l ${flag.slice(2)}${short === undefined ? '' : ` -s ${short.slice(1)}`}${value} -d ${quoted(about)}`;
    };
    return [
      ...entry.subcommands.map((sub) => `complete -c ${name} ${condition} -f -a ${sub.name} -d ${quoted(sub.about)}`),
      ...entry.places.map(
        ({ place, about, choices }) =>
          `complete -c ${name} -n ${quoted(`__${name}_at ${entry.path} ${place}`)} -f -a ${quoted(choices.join(' '))} -d ${quoted(about)}`,
      ),
      ...[...new Set(entry.names)].map((kind) => `complete -c ${name} ${condition} -f -a ${quoted(namesOf(kind))}`),
      ...entry.options.map(option),
    ];
  });
  return `# ${name} completion fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function __${name}_at
  set -l at ${name}
  set -l place 0
  set -l before
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${words
        .slice(1)
        .map((entry) => quoted(entry.path))
        .join(' ')}
        set at "$at $word"
        set place 0
      case '*'
        if not string match -q -- '-*' "$word"; and not contains -- "$before" ${followed(words, ' ')}
          set place (math $place + 1)
        end
    end
    set before "$word"
  end
  test "$at" = "$argv"; or test "$at $place" = "$argv"
end
${lines.join('\n')}
`;
}
