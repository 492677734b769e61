import { access, constants as modes, stat } from 'node:fs/promises';
import { StartError } from '../../../platform/runtime/port.js';
import { locateNamed } from './named-file.js';
import type { Places } from './work-dir.js';

/** A line of shell. */
export interface Line {
  readonly line: string;
  /** The file that says it, as in `Issue.file`: it knows where that lies. */
  readonly file: string;
}

export interface Script {
  /** A file of the city or of one of its packs, as `Issue.file` names it. */
  readonly script: string;
}

/** What a shell is told. @throws StartError as `scriptLine` */
export function shellLine(command: Line | Script, places: Places): Promise<string> {
  return 'script' in command ? scriptLine(command.script, places) : fromItsFolder(command.line, command.file, places);
}

/** @throws StartError not_found when there is no such file, or it leads out of the city and its packs */
async function scriptLine(script: string, places: Places): Promise<string> {
  const found = await locateNamed(script, places);
  if (found === undefined || !(await stat(found)).isFile()) throw new StartError('not_found', `there is no file ${script}`);
  return lineOf(found);
}

/** A line that begins with a path which lies beside the folder of its file, such as `assets/x.sh`, means that one. */
async function fromItsFolder(line: string, file: string, places: Places): Promise<string> {
  const [first = ''] = /^[\w.-]+\/[\w./-]+/.exec(line) ?? [];
  const home = /^(.*?)[\w.-]+\/[\w.-]+$/.exec(file)?.[1];
  if (first === '' || home === undefined) return line;
  const found = await locateNamed(`${home}${first.replace(/^\.\//, '')}`, places);
  if (found === undefined || !(await stat(found)).isFile()) return line;
  return `${await lineOf(found)}${line.slice(first.length)}`;
}

async function lineOf(file: string): Promise<string> {
  const runs = await access(file, modes.X_OK).then(
    () => true,
    () => false,
  );
  return `${runs ? '' : '/bin/sh '}'${file.replaceAll("'", `'\\''`)}'`;
}
