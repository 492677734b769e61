import path from 'node:path';
import { StartError } from '../../../platform/runtime/port.js';
import { TRIMMING_VARIABLE, type COMMAND_VARIABLES, type IDENTITY_VARIABLES, type ValuesOf } from '../../files/composition/variables.js';
import type { SessionRow } from '../session-store/session-row.js';
import { actingName } from './acting-name.js';
import type { Template } from './launch.js';
import { WORKTREES, type Directories, type Places } from './work-dir.js';

export type Values = Readonly<Record<string, string>>;

/** What a shell reads between double quotes, too; and what ends a line or a word whatever stands around it. */
const READ_BY_SHELLS = /["'$`\\\p{Cc}]/u;

/** Who a session is, as prompts and commands are told. */
export function namesOf(template: Template, row: SessionRow, { cityName }: Pick<Places, 'cityName'>): ValuesOf<typeof IDENTITY_VARIABLES> {
  const name = actingName(row);
  return {
    Agent: name,
    AgentName: name,
    AgentBase: name.slice(name.lastIndexOf('/') + 1),
    TemplateName: template.name,
    Rig: template.rig,
    RigName: template.rig,
    CityName: cityName,
    SessionName: row.session_name,
    SessionID: row.id,
    Provider: template.provider,
  };
}

/** What `{{.NAME}}` stands for in commands and definitions of one session. */
export function variablesOf(
  template: Template,
  row: SessionRow,
  places: Places,
  directories: Directories,
  configDir: string,
  /** What runs the session may know it by another name. */
  session: string = row.session_name,
): ValuesOf<typeof COMMAND_VARIABLES> {
  return {
    ...namesOf(template, row, places),
    RigRoot: directories.rigRoot ?? '',
    CityRoot: directories.city,
    WorktreesRoot: path.join(directories.city, WORKTREES),
    WorkDir: directories.workDir,
    ConfigDir: configDir,
    Session: session,
  };
}

/** A text with its variables filled in; what is none of them stays, or goes to `unknown`. */
export function fill(text: string, values: Values, unknown: (name: string, whole: string) => string = (_, whole) => whole): string {
  return text.replace(TRIMMING_VARIABLE, (whole, name: string) => (Object.hasOwn(values, name) ? values[name]! : unknown(name, whole)));
}

/**
 * A line for a shell. Its author puts quotes around variables, as around those of the shell; a value that would end the
 * quotes, or be read inside of them, is not put there.
 *
 * @throws StartError
 */
export function fillLine(key: string, line: string, values: Values): string {
  return line.replace(TRIMMING_VARIABLE, (whole, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name]! : undefined;
    if (value === undefined) return whole;
    if (READ_BY_SHELLS.test(value))
      throw new StartError('unsupported', `${key} has ${whole}, which stands for a text with characters that a shell would read`);
    return value;
  });
}
