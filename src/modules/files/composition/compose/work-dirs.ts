import { posix } from 'node:path';
import { Leaf, type Table } from '../tree.js';
import { VARIABLE } from '../variables.js';
import type { Agents } from './agents.js';
import type { Rig } from './rigs.js';
import type { Run } from './run.js';

/** Stands for where the city lies, which only its host knows. */
const CITY = '/city';
/** Stands for what only a session knows: the length of a path is no matter here. */
const SOME = 'x';
/** No path is longer, and many rigs may share a text. */
const LONGEST = 4_096;
const OF_RIG = /^\{\{\s*\.(?:Rig|RigRoot)\s*\}\}/;

/** Tells of working directories in which no session can work: outside of the city and the rig, as far as the text says it. */
export function checkWorkDirs(run: Run, agents: Agents, rigs: readonly Rig[]): void {
  const byName = new Map(rigs.map((rig) => [rig.name, rig.table]));
  for (const { table, dir } of agents.all) {
    const written = table.get('work_dir');
    if (!(written instanceof Leaf) || written.value === '') continue;
    const text = String(written.value);
    if (text.length > LONGEST) continue;
    if (text === '~' || text.startsWith('~/')) run.warn(written, 'is a folder of the city called ~: nobody has a home here');
    else if (leadsOut(text, dir, byName.get(dir), run.input.cityName)) {
      const why = dir === '' && OF_RIG.test(text) ? ': an agent of the city has no rig' : '';
      run.warn(written, `leads out of the city, where no session starts${why}`);
    }
  }
}

function leadsOut(text: string, dir: string, rig: Table | undefined, cityName: string): boolean {
  // A rig may lie anywhere, and beside the city as well.
  const at = rig?.text('path');
  if (dir !== '' && (at === undefined || at.startsWith('/') || at.startsWith('..'))) return false;
  const city = posix.join(CITY, cityName);
  const values: Readonly<Record<string, string>> = {
    ...{ CityRoot: city, CityName: cityName, Rig: dir, RigRoot: dir === '' ? '' : posix.resolve(city, at!) },
    WorktreesRoot: posix.join(city, '.gc/worktrees'),
  };
  const filled = text.replace(VARIABLE, (_, name: string) => values[name] ?? SOME);
  // Which absolute paths are in the city only its host knows, but not one that begins with nothing.
  if (filled.startsWith('/') && !filled.startsWith(`${city}/`) && filled !== city && !OF_RIG.test(text)) return false;
  const path = posix.resolve(city, filled);
  // What climbs higher may come back by names that only the host knows.
  return path !== city && !path.startsWith(`${city}/`) && !path.split('/').includes(cityName);
}
