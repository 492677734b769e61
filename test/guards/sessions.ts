import type { Guard } from './guard.js';

const LOG = 'db/migrations/0019_append_session_log.ts';
const LOG_SPEC = 'src/modules/transcripts/transcript-log.db-spec.ts';
const OWNERSHIP = 'src/modules/runners/ownership.db-spec.ts';
const CLAIMS = 'src/modules/runners/claims.db-spec.ts';
const FENCING = 'src/modules/runners/fencing.db-spec.ts';
const QUEUE = 'src/modules/messages/message-queue.repository.ts';
const MESSAGES = 'src/modules/messages/messages.db-spec.ts';
const MESSAGE_RACES = 'src/modules/messages/message-races.db-spec.ts';
const INTERACTIONS = 'src/modules/interactions/interactions.repository.ts';
const INTERACTIONS_SPEC = 'src/modules/interactions/interactions.db-spec.ts';
const POOLS = 'src/modules/pools/pool-pass.db-spec.ts';
const POOL_GUARDS = 'src/modules/pools/pool-guards.db-spec.ts';
const EXECUTOR = 'src/modules/pools/pool-executor.ts';
const WORK_DIR = 'src/modules/launch/work-dir.spec.ts';
const LAUNCH_ENVIRONMENT = 'src/modules/launch/environment.spec.ts';

/** Sessions, their runners and agents, what is said to them and by them. */
export const SESSIONS: readonly Guard[] = [
  {
    guard: 'Cities take turns where sessions wait for places.',
    file: 'src/modules/runners/turns.ts',
    find: 'const city = open.reduce((best, one) => (shares.of(one) < shares.of(best) ? one : best));',
    replace: 'const city = open.sort((a, b) => a - b)[0]!;',
    test: CLAIMS,
    name: 'get places in turn',
  },
  {
    guard: 'One city does not take all places of a runner.',
    file: 'src/modules/runners/turns.ts',
    find: 'lines.get(city)!.length > 0 && shares.admits(city)',
    replace: 'lines.get(city)!.length > 0',
    test: CLAIMS,
    name: 'leave a place to one that has none',
  },
  {
    guard: 'A log takes nothing of a session that no runner holds in this generation.',
    file: LOG,
    find: 'where s.pk = u.pk and s.generation = u.generation and s.runner_id is not null offset 0',
    replace: 'where s.pk = u.pk offset 0',
    test: LOG_SPEC,
  },
  {
    guard: 'Two writers of a log take positions one after the other.',
    file: LOG,
    find: '(not p_fenced or l.generation = u.generation) for update',
    replace: '(not p_fenced or l.generation = u.generation)',
    test: LOG_SPEC,
  },
  {
    guard: 'A session moves from the state and generation that were read.',
    file: 'src/modules/sessions/session-store.repository.ts',
    find: 'where s.pk = ${row.pk} and s.state = ${row.state} and s.generation = ${row.generation} returning ${ROW}',
    replace: 'where s.pk = ${row.pk} returning ${ROW}',
    test: 'src/modules/sessions/session-moves.db-spec.ts',
  },
  {
    guard: 'A session moves as the state table says.',
    file: 'src/modules/sessions/session-changes.ts',
    find: 'if (to === undefined) throw illegal(row, command);',
    replace: 'if (to === undefined) return this.patch(row, {});',
    test: 'src/modules/sessions/session-moves.db-spec.ts',
  },
  {
    guard: 'Who changes a session holds its row.',
    file: 'src/modules/sessions/session-store.repository.ts',
    find: 'where s.pk = ${pk} and s.stream_id = ${streamId} for no key update`',
    replace: 'where s.pk = ${pk} and s.stream_id = ${streamId}`',
    test: OWNERSHIP,
  },
  {
    guard: 'A runner writes only about what it holds in this generation.',
    file: 'src/modules/runners/owned-session.ts',
    find: 'if (row === undefined || row.runner_id !== this.owned.runnerId || row.generation !== this.owned.generation) throw this.#lost();',
    replace: 'if (row === undefined) throw this.#lost();',
    test: OWNERSHIP,
  },
  {
    guard: 'A runner commits nothing that its lease does not cover any more.',
    file: 'src/modules/runners/owned-session.ts',
    find: 'is not committed.\n        if (!this.held) throw this.#lost();',
    replace: 'is not committed.',
    test: OWNERSHIP,
  },
  {
    guard: 'A process that is somebody else’s by now is not settled.',
    file: 'src/modules/runners/settlements.ts',
    find: '    if (row === undefined || row.runner_id !== owned.runnerId || row.generation !== owned.generation) return undefined;\n    const facts',
    replace: '    if (row === undefined) return undefined;\n    const facts',
    test: OWNERSHIP,
  },
  {
    guard: 'A session is taken by one runner.',
    file: 'src/modules/runners/claims.repository.ts',
    find: 'and s.stream_id = ${streamId} and ${STARTABLE}\n        and exists',
    replace: "and s.stream_id = ${streamId} and s.state <> 'closed'\n        and exists",
    test: CLAIMS,
  },
  {
    guard: 'A city that is to stop starts nothing.',
    file: 'src/modules/runners/claims.repository.ts',
    find: "const RUNNING = sql`c.running and c.desired = 'running'`;",
    replace: 'const RUNNING = sql`c.running`;',
    test: CLAIMS,
  },
  {
    guard: 'A session that is held or waits for its time is not started.',
    file: 'src/modules/runners/claims.repository.ts',
    find: "and coalesce(s.held_until, '-infinity') <= clock_timestamp()",
    replace: '',
    test: CLAIMS,
  },
  {
    guard: 'A runner takes no more than it has room for.',
    file: 'src/modules/runners/session-claims.ts',
    find: 'const number = Math.min(limit, share(lease.id, loads, wanted.length, overdue.length));',
    replace: 'const number = Math.max(1_000 * limit, share(lease.id, loads, wanted.length, overdue.length));',
    test: CLAIMS,
    name: 'take no more than they have room for',
    unproven: 'the shares of cities end where the room does',
  },
  {
    guard: 'A runner is given up only when its lease has run out.',
    file: 'src/modules/runners/runner.repository.ts',
    find: "where state in ('active', 'draining') and lease_until < clock_timestamp() for update skip locked)\n        and lease_until < clock_timestamp()",
    replace: "where state in ('active', 'draining') for update skip locked)",
    test: FENCING,
    name: 'goes on with the conversation: idle',
  },
  {
    guard: 'A runner that was given up cannot renew its lease.',
    file: 'src/modules/runners/runner.repository.ts',
    find: "where id = ${id} and state in ('active', 'draining') returning 1`.execute(db);\n    return",
    replace: 'where id = ${id} returning 1`.execute(db);\n    return',
    test: FENCING,
    name: 'learns that it is given up',
  },
  {
    guard: 'A runner stops by its own clock when it cannot renew.',
    file: 'src/modules/runners/runner-lease.ts',
    find: 'return !this.signal.aborted && this.#age() < this.timings.holdMs;',
    replace: 'return !this.signal.aborted && this.#age() < Infinity;',
    test: FENCING,
    name: 'ends everything by its own clock',
  },
  {
    guard: 'Processes of runners that live are no leftovers.',
    file: 'src/modules/runners/session-work.repository.ts',
    find: 'where r.host = ${host}`',
    replace: 'where r.host = ${host} and false`',
    test: FENCING,
    name: 'those of live runners are left alone',
  },
  {
    guard: 'One message of a session is on its way at a time.',
    file: QUEUE,
    find: "where m.pk = ${pk} and m.session_pk = ${session.pk} and m.status = 'queued'\n        and not exists (select from session_messages f where f.session_pk = ${session.pk} and f.status = 'in_flight')",
    replace: 'where m.pk = ${pk} and m.session_pk = ${session.pk}',
    test: MESSAGES,
    name: 'gives a message once',
  },
  {
    guard: 'A message whose time has not come or is over is not delivered.',
    file: QUEUE,
    find: "and m.status = 'queued' and m.deliver_after <= clock_timestamp() and m.expires_at > clock_timestamp()",
    replace: "and m.status = 'queued'",
    test: MESSAGES,
    name: 'the time before which it is not',
  },
  {
    guard: 'A process confirms what it was given itself.',
    file: QUEUE,
    find: "and m.status = 'in_flight' and m.generation = ${session.generation}",
    replace: "and m.status = 'in_flight'",
    test: MESSAGE_RACES,
  },
  {
    guard: 'A message that is on its way is not cancelled.',
    file: QUEUE,
    find: 'where m.session_pk = ${sessionPk} and m.status = any(${[...from]}::text[])',
    replace: 'where m.session_pk = ${sessionPk} and ${[...from]}::text[] is not null',
    test: MESSAGE_RACES,
  },
  {
    guard: 'Messages expire once their time is over.',
    file: QUEUE,
    find: 'and (not ${only.overdue ?? false}::boolean or m.expires_at <= clock_timestamp())',
    replace: '',
    test: MESSAGE_RACES,
  },
  {
    guard: 'What is done outside of workers ends once.',
    file: 'src/platform/operations/operations.repository.ts',
    find: "where id = ${id} and kind = ${kind} and state in ('accepted', 'running')",
    replace: 'where id = ${id} and kind = ${kind}',
    test: MESSAGE_RACES,
  },
  {
    guard: 'The first answer to a question counts.',
    file: INTERACTIONS,
    find: "from l where i.pk = ${pk} and i.session_pk = ${sessionPk} and i.status = 'open' returning ${ROW}",
    replace: 'from l where i.pk = ${pk} and i.session_pk = ${sessionPk} returning ${ROW}',
    test: INTERACTIONS_SPEC,
  },
  {
    guard: 'A question is opened once, however often its runtime says it.',
    file: INTERACTIONS,
    find: 'and i.generation = ${session.generation} and coalesce(i.runtime_id, i.request_id) = ${runtimeId}`',
    replace: 'and i.generation = -1 and ${session.generation}::bigint > 0 and coalesce(i.runtime_id, i.request_id) = ${runtimeId}`',
    test: INTERACTIONS_SPEC,
  },
  {
    guard: 'A turn is ended by the process that began it.',
    file: 'src/modules/usage/turns.repository.ts',
    find: 'and generation = ${generation} and ended_at is null',
    replace: 'and ${generation}::bigint is not null and ended_at is null',
    test: 'src/modules/usage/usage.db-spec.ts',
  },
  {
    guard: 'Two workers do not count the sessions of a city at once.',
    file: 'src/modules/pools/pool-state.repository.ts',
    find: 'select pg_try_advisory_xact_lock(3, ${streamId}) as ok',
    replace: 'select ${streamId}::int > 0 as ok',
    test: POOLS,
    name: 'keeps the limit of a city when two look at once',
  },
  {
    guard: 'What work came to between the plan and its execution is not drained.',
    file: EXECUTOR,
    find: "if (reason === 'no-wake-reason' && (guard.in_turn || guard.asks || guard.messages > 0 || guard.holds)) return 'changed';",
    replace: '',
    test: POOLS,
    name: 'are not drained when work comes between the plan and its execution',
  },
  {
    guard: 'A session that has something to do by now is not sent to sleep.',
    file: EXECUTOR,
    find: "if (decision.reason === 'idle-timeout' && !free) return 'changed';",
    replace: "if (free && decision.reason === '') return 'changed';",
    test: POOL_GUARDS,
  },
  {
    guard: 'A plan is carried out on what it was made for.',
    file: EXECUTOR,
    find: '    row.accepted_hash === planned.acceptedHash\n',
    replace: "    row.accepted_hash !== ''\n",
    test: 'src/modules/pools/drift.db-spec.ts',
  },
  {
    guard: 'A working directory lies inside the city or the rig.',
    file: 'src/modules/launch/work-dir.ts',
    find: "if (!inside(planned)) throw unusable(wanted, 'it lies outside the city and the rig');\n",
    replace: '',
    test: WORK_DIR,
  },
  {
    guard: 'A rig lies inside the cities directory.',
    file: 'src/modules/launch/work-dir.ts',
    find: 'if (!isBelow(root, at)) throw',
    replace: "if (at === '' && !isBelow(root, at)) throw",
    test: WORK_DIR,
  },
  {
    guard: 'No file sets variables in our name.',
    file: 'src/modules/launch/environment.ts',
    find: '!RESERVED.test(name) && ',
    replace: '',
    test: LAUNCH_ENVIRONMENT,
  },
  {
    guard: 'A file learns of the host what hosts pass on, and nothing else.',
    file: 'src/modules/launch/environment.ts',
    find: "return Object.hasOwn(host, name) ? host[name]! : '';",
    replace: "return (host[name] ?? globalThis.process.env[name]) || '';",
    test: LAUNCH_ENVIRONMENT,
  },
  {
    guard: 'What an agent says cannot steer a terminal.',
    file: 'src/cli/sessions/harmless.ts',
    find: '.replaceAll(CONTROLS, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))',
    replace: '',
    test: 'src/cli/sessions/conversation-view.spec.ts',
  },
  {
    guard: 'What an agent says cannot look like something else.',
    file: 'src/cli/sessions/harmless.ts',
    find: "\n    .replaceAll(INVISIBLE, '')",
    replace: "\n    .replaceAll(INVISIBLE, '$&')",
    test: 'src/cli/sessions/conversation-view.spec.ts',
  },
];
