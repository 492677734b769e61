import type { Random } from './random.js';

/** Places at which a process kills itself now and then, by the role that gets there, and what else may go wrong at a place. */
const EVERYWHERE = [
  'tx.before_commit=kill:0.03',
  'tx.after_commit=kill:0.03',
  'notify.before=kill:0.03',
  'notify.after=kill:0.03',
] as const;
const KILLS = {
  api: [
    ...EVERYWHERE,
    'emit.before_flush=kill:0.03',
    'emit.after_flush=kill:0.03',
    'bead.before_flush=kill:0.15',
    'bead.after_flush=kill:0.15',
    'claim.before_flush=kill:0.15',
    'claim.after_flush=kill:0.15',
    'queue.before_enqueue=kill:0.5',
    'queue.after_enqueue=kill:0.5',
    'scaffold.before_write=kill',
    'scaffold.after_first_file=kill',
    'scaffold.after_write=kill',
    'city.before_commit=kill',
    'city.after_commit=kill',
    'config.before_write=kill:0.15',
    'config.between_files=kill:0.1',
    'config.after_write=kill:0.15',
    'config.after_commit=kill:0.15',
    'stream.after_headers=kill:0.05',
    'stream.before_first_frame=kill:0.05',
  ],
  worker: [
    ...EVERYWHERE,
    'operation.after_claim=kill:0.5',
    'operation.after_phase=kill:0.15',
    'operation.before_finish=kill:0.5',
    'operation.after_finish=kill:0.5',
    'operation.before_fail=kill',
    'sweeper.before_redispatch=kill:0.5',
  ],
} as const;
const NUISANCES = {
  api: [
    'notify.before=drop',
    'notify.before=drop:0.5',
    'notify.before=delay:300:0.5',
    'tx.after_commit=delay:200:0.1',
    'tx.before_commit=delay:100:0.1',
    'emit.after_flush=delay:150:0.2',
    'bead.after_flush=delay:150:0.2',
    'claim.before_flush=delay:150:0.2',
    'claim.after_flush=delay:150:0.2',
    'stream.after_headers=delay:100:0.3',
    'stream.before_first_frame=delay:100:0.3',
    'queue.before_enqueue=drop:0.7',
    'config.before_write=delay:150:0.3',
    'config.between_files=delay:150:0.3',
    'config.after_write=delay:150:0.3',
  ],
  worker: ['notify.before=drop', 'notify.before=delay:300:0.5', 'tx.after_commit=delay:200:0.1', 'operation.before_finish=delay:500:0.3'],
} as const;

/** What a process that starts is armed with; '' for nothing. */
export function drawFailpoints(role: 'api' | 'worker', random: Random): string {
  if (random.chance(0.15)) return '';
  const chosen = [random.pick<string>(KILLS[role]), ...(random.chance(0.5) ? [random.pick<string>(NUISANCES[role])] : [])];
  const byPlace = new Map(chosen.map((entry) => [entry.split('=')[0], entry]));
  return [...byPlace.values()].join(',');
}
