import type { StartSpec } from '../../../platform/runtime/port.js';
import { commandLine, type Command } from './command.js';
import type { Template } from './launch.js';
import { locateNamed } from './named-file.js';
import type { Prepared } from './preparation.js';
import type { Roots } from './work-dir.js';

/** What a script is told of an agent beside its command, under the names of the files. */
const SCRIPT_KEYS = ['lifecycle', 'process_names', 'nudge'];

type Common = Pick<StartSpec, 'cwd' | 'env' | 'readyPrefix' | 'readyDelayMs'>;

/**
 * What the script that runs a session is told of it. It prepares the place itself, wherever that is: commands have their
 * variables filled in, folders and files are absolute paths of this host. The protocol has no member for MCP servers.
 */
export async function scriptDocument(
  { spec, agent }: Template,
  command: Command,
  { cwd, env, readyPrefix, readyDelayMs }: Common,
  prepared: Prepared | undefined,
  places: Roots,
): Promise<Record<string, unknown>> {
  const document: Record<string, unknown> = { work_dir: cwd, command: commandLine(command), env };
  const put = (key: string, value: unknown): void => {
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) document[key] = value;
  };
  for (const key of SCRIPT_KEYS) put(key, agent?.[key] ?? spec[key]);
  if (prepared !== undefined) {
    put(
      'pre_start',
      prepared.preStart.map(({ line }) => line),
    );
    put(
      'session_setup',
      prepared.setup.map(({ line }) => line),
    );
    put('session_setup_script', prepared.setupScript);
    put(
      'session_live',
      prepared.live.map(({ line }) => line),
    );
    const folders = await Promise.all(prepared.overlays.map(({ file }) => locateNamed(file, places)));
    // What the agent's own key names has a member of its own.
    const own = agent?.overlay_file === undefined ? undefined : folders.pop();
    put(
      'pack_overlay_dirs',
      folders.filter((folder) => folder !== undefined),
    );
    put('overlay_dir', own);
  }
  put('ready_prompt_prefix', readyPrefix);
  put('ready_delay_ms', readyDelayMs);
  return document;
}
