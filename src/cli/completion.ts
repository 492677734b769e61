import type { Command } from 'commander';

/** The words that may follow a command, by how the command is called. */
export interface Words {
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly { readonly flag: string; readonly about: string }[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Every command of the tree under each of its names, the root first. */
export function wordsOf(command: Command, prefix = '', name = command.name()): Words[] {
  const help = command.createHelp();
  const path = prefix === '' ? name : `${prefix} ${name}`;
  const subcommands = help.visibleCommands(command).filter((sub) => sub.name() !== 'help');
  const names = subcommands.flatMap((sub) => [sub.name(), ...sub.aliases()].map((name) => ({ sub, name })));
  const own: Words = {
    path,
    subcommands: names.map(({ sub, name }) => ({ name, about: sub.description() })),
    options: help
      .visibleOptions(command)
      .flatMap((option) => (option.long === undefined || option.long === null ? [] : [{ flag: option.long, about: option.description }])),
  };
  return [own, ...names.flatMap(({ sub, name }) => wordsOf(sub, path, name))];
}

export function completionScript(shell: Shell, root: Command): string {
  const words = wordsOf(root);
  return { bash, zsh, fish }[shell](root.name(), words);
}

const offer = (words: Words): string =>
  [...words.subcommands.map((sub) => sub.name), ...words.options.map((option) => option.flag)].join(' ');

/** Follows the typed words down the tree, then offers what the command reached there knows. */
function cases(words: readonly Words[], variable: string): string {
  const paths = words.slice(1).map((entry) => `      "${entry.path}") ${variable}="$next" ;;`);
  return paths.join('\n');
}

function bash(name: string, words: readonly Words[]): string {
  return `# ${name} completion bash: put it into ~/.bashrc as: eval "$(${name} completion bash)"
_${name}_complete() {
  local current="\${COMP_WORDS[COMP_CWORD]}" at="${name}" word next i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    next="$at $word"
    case "$next" in
${cases(words, 'at')}
    esac
  done
  case "$at" in
${words.map((entry) => `    "${entry.path}") COMPREPLY=($(compgen -W "${offer(entry)}" -- "$current")) ;;`).join('\n')}
  esac
}
complete -o default -F _${name}_complete ${name}
`;
}

function zsh(name: string, words: readonly Words[]): string {
  const described = (entry: Words): string =>
    [...entry.subcommands.map((s) => [s.name, s.about] as const), ...entry.options.map((o) => [o.flag, o.about] as const)]
      .map(([word, about]) => `'${`${word}:${about}`.replaceAll("'", `'\\''`)}'`)
      .join(' ');
  return `#compdef ${name}
# ${name} completion zsh: put it into ~/.zshrc as: source <(${name} completion zsh)
_${name}() {
  local at="${name}" word next i
  local -a offered
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    next="$at $word"
    case "$next" in
${cases(words, 'at')}
    esac
  done
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
  const lines = words.flatMap((entry) => {
    const condition = `-n ${quoted(`__${name}_at ${entry.path}`)}`;
    return [
      ...entry.subcommands.map((sub) => `complete -c ${name} ${condition} -f -a ${sub.name} -d ${quoted(sub.about)}`),
      ...entry.options.map((option) => `complete -c ${name} ${condition} -l ${option.flag.slice(2)} -d ${quoted(option.about)}`),
    ];
  });
  return `# ${name} completion fish: ${name} completion fish > ~/.config/fish/completions/${name}.fish
function __${name}_at
  set -l at ${name}
  for word in (commandline -opc)[2..]
    switch "$at $word"
      case ${words
        .slice(1)
        .map((entry) => quoted(entry.path))
        .join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv"
end
${lines.join('\n')}
`;
}
