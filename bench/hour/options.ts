import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    cities: { type: 'string', default: '50' },
    sessions: { type: 'string', default: '500' },
    /** Members that each city's pool may have. */
    pool: { type: 'string', default: '2' },
    /** A second, of all cities together. */
    messages: { type: 'string', default: '4' },
    beads: { type: 'string', default: '0.5' },
    /** One session more every so many seconds, for the time that its start takes. */
    starts: { type: 'string', default: '6' },
    /** What the agents' own Node is given: with a compiler for each, 500 of them do not fit into 16 GB. */
    'agent-node-options': { type: 'string', default: '--jitless --max-semi-space-size=1' },
    isolation: { type: 'string', default: 'none' },
    faults: { type: 'string', default: 'config,kill,resize,redis,api' },
    /** Where logs and statements stay. */
    keep: { type: 'string' },
  },
});

const number = (name: 'minutes' | 'cities' | 'sessions' | 'pool' | 'messages' | 'beads' | 'starts'): number => {
  const found = Number(values[name]);
  if (!Number.isFinite(found) || found < 0) throw new Error(`--${name} has to be a number`);
  return found;
};

export const options = {
  minutes: number('minutes'),
  cities: number('cities'),
  sessions: number('sessions'),
  pool: number('pool'),
  messages: number('messages'),
  beads: number('beads'),
  starts: number('starts'),
  agentNodeOptions: values['agent-node-options'],
  isolation: values.isolation,
  faults: values.faults.split(',').filter((name) => name !== ''),
  keep: values.keep,
};

export const cityNamed = (n: number): string => `hour-${String(n + 1).padStart(2, '0')}`;
