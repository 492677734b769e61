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

/** Where runners of sessions, and those who talk to sessions, may end. */
const SESSIONS_KILLS = {
  api: [...EVERYWHERE, 'stream.after_headers=kill:0.05', 'stream.before_first_frame=kill:0.05'],
  worker: [
    ...EVERYWHERE,
    'runner.after_claim=kill:0.2',
    'runner.before_spawn=kill:0.2',
    'runner.after_ready=kill:0.2',
    'message.after_in_flight=kill:0.1',
    'message.after_prompt=kill:0.1',
    'message.after_delivered=kill:0.1',
    'interaction.after_open=kill:0.2',
    'runner.before_exit_recorded=kill:0.2',
  ],
} as const;
const SESSIONS_NUISANCES = {
  api: ['notify.before=drop', 'notify.before=delay:300:0.5', 'tx.before_commit=delay:100:0.1', 'tx.after_commit=delay:200:0.1'],
  worker: [
    'notify.before=drop',
    'tx.before_commit=delay:100:0.1',
    'runner.after_claim=delay:500:0.5',
    'runner.before_spawn=delay:500:0.5',
    'runner.after_ready=delay:500:0.5',
    'message.after_in_flight=delay:400:0.5',
    'message.after_prompt=delay:400:0.5',
    'message.after_delivered=delay:400:0.5',
    'interaction.after_open=delay:400:0.5',
    'runner.before_exit_recorded=delay:500:0.5',
  ],
} as const;

/** Where those who fire orders and carry them out may end. */
const ORDERS_KILLS = {
  api: [...EVERYWHERE, 'tx.before_commit=kill:0.1', 'tx.after_commit=kill:0.1'],
  worker: [...EVERYWHERE, 'order.begun=kill:0.2', 'order.begun=kill:0.2', 'order.before_end=kill:0.2', 'order.before_end=kill:0.2'],
} as const;
const ORDERS_NUISANCES = {
  api: ['notify.before=drop', 'notify.before=delay:300:0.5', 'tx.before_commit=delay:150:0.3', 'tx.after_commit=delay:200:0.1'],
  worker: [
    'notify.before=drop',
    'tx.before_commit=delay:150:0.3',
    'tx.after_commit=delay:200:0.1',
    'order.begun=delay:500:0.5',
    'order.before_end=delay:500:0.5',
  ],
} as const;

/** Where those who take messages from outside, tell members and publish may end. */
const MESSAGES_KILLS = {
  api: [...EVERYWHERE, 'tx.before_commit=kill:0.1', 'tx.after_commit=kill:0.1'],
  worker: [
    ...EVERYWHERE,
    'extmsg.published=kill:0.2',
    'extmsg.published=kill:0.2',
    'message.after_in_flight=kill:0.05',
    'message.after_prompt=kill:0.05',
    'message.after_delivered=kill:0.05',
  ],
} as const;
const MESSAGES_NUISANCES = {
  api: ORDERS_NUISANCES.api,
  worker: [
    'notify.before=drop',
    'tx.before_commit=delay:150:0.3',
    'tx.after_commit=delay:200:0.1',
    'extmsg.published=delay:500:0.5',
    'message.after_in_flight=delay:200:0.3',
  ],
} as const;

/** What a process that starts is armed with; '' for nothing. */
export function drawFailpoints(role: 'api' | 'worker', random: Random): string {
  return draw(KILLS[role], NUISANCES[role], random);
}

/** The same for a process that starts in a round with sessions. */
export function drawSessionsFailpoints(role: 'api' | 'worker', random: Random): string {
  return draw(SESSIONS_KILLS[role], SESSIONS_NUISANCES[role], random);
}

/** The same for a process that starts in a round with orders. */
export function drawOrdersFailpoints(role: 'api' | 'worker', random: Random): string {
  return draw(ORDERS_KILLS[role], ORDERS_NUISANCES[role], random);
}

/** The same for a process that starts in a round with messages from outside. */
export function drawMessagesFailpoints(role: 'api' | 'worker', random: Random): string {
  return draw(MESSAGES_KILLS[role], MESSAGES_NUISANCES[role], random);
}

function draw(kills: readonly string[], nuisances: readonly string[], random: Random): string {
  if (random.chance(0.15)) return '';
  const chosen = [random.pick(kills), ...(random.chance(0.5) ? [random.pick(nuisances)] : [])];
  const byPlace = new Map(chosen.map((entry) => [entry.split('=')[0], entry]));
  return [...byPlace.values()].join(',');
}
