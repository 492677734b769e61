import { StartError } from '../../../platform/runtime/port.js';
import { TooDear } from '../../../platform/threads/thread.js';
import type { Threads } from '../../../platform/threads/threads.js';
import type { CityConfig } from '../../files/composition/city-config.js';
import type { SessionRow } from '../session-store/session-row.js';
import { actingName } from './acting-name.js';
import type { Template } from './launch.js';
import { readNamedFile } from './named-file.js';
import { costOfRendering, rendering, type Rendering } from './prompt-tasks.js';
import { fragmentsOf, MAX_LENGTH } from './prompt-template.js';
import { namesOf } from './variables.js';
import type { Places } from './work-dir.js';

/**
 * What a new conversation of an agent begins with: its prompt, the fragments that it is given, who it is here, and its
 * nudge. A bare provider's session waits for a person, and is told nothing.
 *
 * @throws StartError unsupported when its templates take too much
 */
export async function promptOf(
  config: CityConfig,
  template: Template,
  row: SessionRow,
  places: Places,
  threads: Threads,
): Promise<string | undefined> {
  const { agent } = template;
  if (agent === undefined) return undefined;
  const values = { ...namesOf(template, row, places), CityRoot: places.cityPath };
  const file = agent.prompt_file as string | undefined;
  const text = file === undefined ? undefined : await readNamedFile(file, config.contents, places);
  const fragments = await fragmentsOf(config, agent, places);
  const input = { parts: [...(text === undefined ? [] : [text]), ...fragments.chosen], values, fragments: fragments.all };
  const parts = [
    ...(await rendered(input, places.cityName, threads)),
    introduction(template, row, places.cityName, text === undefined),
    agent.nudge as string | undefined,
  ];
  return parts
    .map((part) => part?.trim() ?? '')
    .filter((part) => part !== '')
    .join('\n\n')
    .slice(0, MAX_LENGTH);
}

/** A short prompt is rendered here, any other in a thread. */
async function rendered(input: Rendering, owner: string, threads: Threads): Promise<string[]> {
  try {
    return await threads.runOrDo({ task: rendering, owner, input }, costOfRendering(input));
  } catch (error) {
    if (!(error instanceof TooDear)) throw error;
    throw new StartError('unsupported', `the template of the prompt ${error.message}`, '', { cause: error });
  }
}

function introduction(template: Template, row: SessionRow, city: string, alone: boolean): string {
  const place = template.rig === '' ? `the city ${city}` : `the rig ${template.rig} of the city ${city}`;
  const who = `You are ${actingName(row)} in ${place}; this session is ${row.id}. The command \`svc\` is your line to the city and knows who you are.`;
  const bead = row.metadata.trigger_bead;
  const work = bead === undefined || bead === '' ? '' : ` You were started for the work item ${bead}.`;
  return `${who}${work}${alone ? ' `svc hook claim --json` gives you the next piece of work that is meant for you; without any, wait for what you are asked.' : ''}`;
}
