import { stripVTControlCharacters } from 'node:util';
import { withoutTerminalCommands } from '../../contract/terminal-commands.js';

// oxlint-disable-next-line no-control-regex -- taking them out is the purpose
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** What a program has printed, as text for people: without colours and whatever else moves a terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(withoutTerminalCommands(text.replaceAll('\r\n', '\n')))
    .replaceAll(CONTROLS, '')
    .toWellFormed();
}
