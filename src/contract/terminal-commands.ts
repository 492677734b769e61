// oxlint-disable-next-line no-control-regex -- they are what is looked for
const COMMANDS = /(?<!\u001b)\u001b+\](?:[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c))?/g;

/**
 * A text without what sets a title, a link or a clipboard of a terminal, and without what only begins such a command. Node's own
 * `stripVTControlCharacters` looks for the end of each of them in all that follows: of many without one, for minutes in a megabyte. So
 * whatever others have written comes here before. All escapes before the bracket go: of one that stays, and a bracket behind what was taken
 * out, a beginning would come to be.
 */
export function withoutTerminalCommands(text: string): string {
  return text.replaceAll(COMMANDS, '');
}
