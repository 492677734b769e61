import type { Guard } from './guard.js';

const NAMED = 'src/modules/sessions/session-names/named-sessions.service.ts';
const NAMES_SPEC = 'src/modules/sessions/session-names/name-locks.db-spec.ts';
const POOL_SPEC = 'src/modules/runners/pools/pool-locks.db-spec.ts';
const EXECUTOR = 'src/modules/runners/pools/pool-executor.ts';
const PLANNED = 'src/modules/runners/pools/pool-locks.ts';
const EDITS = 'src/modules/configuration/config/edit-recovery.ts';
const EDITS_SPEC = 'src/modules/configuration/config/config-edit-locks.db-spec.ts';
const ENDINGS = 'src/modules/integrations/extmsg/repair/session-endings.ts';

/** The one order in which transactions lock what they change. */
export const LOCKS: readonly Guard[] = [
  {
    guard: 'Who gives a session another name has the names of the city before he gives up the old one.',
    file: 'src/modules/sessions/sessions/session-edits.service.ts',
    find: 'await changes.lockNames();',
    replace: '',
    test: NAMES_SPEC,
    name: 'are refused both',
  },
  {
    guard: 'Who takes a configured name from a session has that session first.',
    file: NAMED,
    find: 'if (found !== undefined) await changes.lockAll([found], [found]);',
    replace: '',
    test: NAMES_SPEC,
    name: 'is waited for before',
  },
  {
    guard: 'A pass over the pools has all sessions that it changes before it gives up a name.',
    file: PLANNED,
    find: "[...decisions.flatMap((one) => ('pk' in one ? [one.pk] : [])), ...bearers]",
    replace: 'bearers',
    test: POOL_SPEC,
    name: 'has all of them before',
  },
  {
    guard: 'A pass over the pools says which sessions end before the first does.',
    file: PLANNED,
    find: ', [...closed, ...bearers]);',
    replace: ', closed.length > 100 ? closed : []);',
    test: POOL_SPEC,
    name: 'says which before',
  },
  {
    guard: 'A pass over the pools has the names of the city before it gives up one, where it gives another.',
    file: PLANNED,
    find: 'if (decisions.some(makesSession)) await changes.lockNames();',
    replace: 'if (decisions.length < 0 && decisions.some(makesSession)) await changes.lockNames();',
    test: POOL_SPEC,
    name: 'has the names of the city',
  },
  {
    guard: 'A pass over the pools waits for no session that somebody else has made for a name.',
    file: EXECUTOR,
    find: 'const row = await changes.tryLock(found.pk);',
    replace: 'const row = await changes.lock(found.pk);',
    test: POOL_SPEC,
    name: 'waits for no session',
  },
  {
    guard: 'What sessions that end together have of conversations is locked in one order.',
    file: ENDINGS,
    find: 'this.sessions.onEnding(async (changes, pks) => void (await this.#lockAll(changes, pks)));',
    replace: '',
    test: 'src/modules/integrations/extmsg/repair/session-endings.db-spec.ts',
  },
  {
    guard: 'Who forgets what was said waits for nobody who has a conversation.',
    file: 'src/modules/integrations/extmsg/repair/retention.repository.ts',
    find: 'for no key update skip locked\n      ), gone',
    replace: 'for no key update\n      ), gone',
    test: 'src/modules/integrations/extmsg/repair/retention.db-spec.ts',
  },
  {
    guard: 'Who cancels a run has the sessions that are at it before he ends anything of it.',
    file: 'src/modules/orchestration/runs/run-changes.service.ts',
    find: 'const session = await changes.lock(pk);',
    replace:
      "await this.endings.end(work, run, { outcome: 'canceled', reason: CANCELED });\n        const session = await changes.lock(pk);",
    test: 'src/modules/orchestration/runs/run-cancel-locks.db-spec.ts',
  },
  {
    guard: 'An edit that breaks off is taken back behind the state of the configuration.',
    file: EDITS,
    find: 'if (written !== undefined) await this.repository.raiseAttempt(tx, city.streamId);\n      await this.repository.end(tx, city.streamId, begun.hold);',
    replace:
      'await this.repository.end(tx, city.streamId, begun.hold);\n      if (written !== undefined) await this.repository.raiseAttempt(tx, city.streamId);',
    test: EDITS_SPEC,
    name: 'that breaks off',
  },
  {
    guard: 'An edit whose process has died is taken back behind the state of the configuration.',
    file: EDITS,
    find: 'await this.repository.raiseAttempt(tx, left.streamId);\n      await this.repository.end(tx, left.streamId, left.id);',
    replace: 'await this.repository.end(tx, left.streamId, left.id);\n      await this.repository.raiseAttempt(tx, left.streamId);',
    test: EDITS_SPEC,
    name: 'whose process has died',
  },
];
