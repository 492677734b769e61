import type { Guard } from './guard.js';

const CONTROL = 'src/modules/orchestration/runs/control';
const MODEL = `${CONTROL}/advance.model.spec.ts`;
const CHECKS = 'src/modules/orchestration/runs/checks/checks.repository.ts';
const CHECKS_TEST = 'src/modules/orchestration/runs/checks/checks.db-spec.ts';
const LIMITS = 'src/modules/orchestration/runs/limits/limits.db-spec.ts';
const CORPUS = 'src/modules/orchestration/formulas/compile/corpus.spec.ts';
const RULES = `${CONTROL}/advance.spec.ts`;

/** What follows in a run. */
export const RUN_CONTROL: readonly Guard[] = [
  {
    guard: 'A script of a city that does not run is not due.',
    file: CHECKS,
    find: 'select from run_checks c join cities y on y.stream_id = c.stream_id and y.running where c.worker',
    replace: 'select from run_checks c where c.worker',
    test: CHECKS_TEST,
    name: 'is not due until then',
  },
  {
    guard: 'A script that another worker has taken over says nothing any more.',
    file: CHECKS,
    find: 'where pk = ${pk} and worker = ${worker} and attempts = ${attempts} returning stream_id',
    replace: 'where pk = ${pk} returning stream_id',
    test: CHECKS_TEST,
  },
  {
    guard: 'The script of a check is taken by one worker.',
    file: CHECKS,
    find: ' and (c.worker is null or c.lease_until < now()) for update skip locked),',
    replace: '),',
    test: CHECKS_TEST,
    name: 'taking it just now',
  },
  {
    guard: 'The script of a check ends with the run.',
    file: 'src/modules/orchestration/runs/runs.repository.ts',
    find: 'delete from run_checks where stream_id = ${streamId} and run_id = ${id}',
    replace: 'select',
    test: CHECKS_TEST,
  },
  {
    guard: 'The script of a check ends with its scope.',
    file: `${CONTROL}/run-control.ts`,
    find: 'await this.#unask(work, facts, acts);',
    replace: '',
    test: CHECKS_TEST,
  },
  {
    guard: 'A script leads to nothing outside of the city and its packs.',
    file: 'src/modules/sessions/launch/city-commands.ts',
    find: 'const found = await locateNamed(script, places);',
    replace: 'const found = path.join(places.cityPath, script);',
    test: 'test/e2e/checks.e2e-spec.ts',
  },
  {
    guard: 'What an ended control has made ends with it.',
    file: `${CONTROL}/advance.ts`,
    find: 'this.#skip(made, told(node));',
    replace: 'told(made);',
    test: RULES,
  },
  {
    guard: 'A condition about children counts no gates.',
    file: `${CONTROL}/advance.ts`,
    find: " && fact.step.kind !== 'gate');",
    replace: ');',
    test: RULES,
  },
  {
    guard: 'A step is never done when what it needs has failed.',
    file: `${CONTROL}/advance.ts`,
    find: "({ outcome }) => outcome !== undefined && outcome !== 'pass')",
    replace: '() => false)',
    test: MODEL,
  },
  {
    guard: 'A failure fails its run, whatever is closed after it.',
    file: `${CONTROL}/nodes.ts`,
    find: "['fail', 'canceled', 'skipped']",
    replace: "['canceled', 'skipped']",
    test: MODEL,
  },
  {
    guard: 'An attempt that has been superseded speaks for nobody.',
    file: `${CONTROL}/advance.ts`,
    find: 'fact.of === undefined && fact.step.scope === undefined',
    replace: 'fact.step.scope === undefined',
    test: MODEL,
  },
  {
    guard: 'A retry ends.',
    file: `${CONTROL}/advance.ts`,
    find: "result === 'transient' && round < max",
    replace: "result === 'transient' && round <= max",
    test: MODEL,
  },
  {
    guard: 'What fails while it cleans up fails nothing.',
    file: `${CONTROL}/nodes.ts`,
    find: 'const counting = nodes.filter((node) => !cleansUp(node));',
    replace: 'const counting = nodes;',
    test: MODEL,
  },
  {
    guard: 'A member that fails takes the open ones of its scope with it.',
    file: `${CONTROL}/advance.ts`,
    find: 'for (const member of members) this.#skip(member, reason);',
    replace: '',
    test: MODEL,
  },
  {
    guard: 'A step of a run that has ended stays closed.',
    file: 'src/modules/orchestration/runs/run-keeper.ts',
    find: 'if (id !== run && (known === undefined || known.outcome === null)) return;',
    replace: 'if (id !== run) return;',
    test: `${CONTROL}/run-control.db-spec.ts`,
  },
  {
    guard: 'What one failure takes with it is skipped before anybody can claim it.',
    file: `${CONTROL}/run-control.ts`,
    find: 'await this.#skip(work, facts, acts);',
    replace: '',
    test: `${CONTROL}/run-control.db-spec.ts`,
  },
  {
    guard: 'A field that an item has not is never left to an agent as a placeholder.',
    file: `${CONTROL}/rounds.ts`,
    find: 'if (found === undefined || found === null) throw',
    replace: 'if (value === undefined) throw',
    test: RULES,
  },
  {
    guard: 'Into how many items a step fans out is bounded.',
    file: `${CONTROL}/rounds.ts`,
    find: 'if (values.length > MAX_ITEMS) throw',
    replace: 'if (values.length < 0) throw',
    test: RULES,
  },
  {
    guard: 'What one statement does to the steps of a run is counted once.',
    file: 'db/migrations/0045_count_run_steps_together.ts',
    find: 'for each statement execute function count_run_steps()',
    replace: 'for each row execute function count_run_steps()',
    test: 'src/modules/orchestration/runs/run-keeper.db-spec.ts',
  },
  {
    guard: 'Steps that a failure skips are asked about together.',
    file: 'src/modules/work/work/work.repository.ts',
    find: 'and d.issue_id is distinct from b.run_id',
    replace: '',
    test: 'src/modules/orchestration/runs/run-keeper.db-spec.ts',
  },
  {
    guard: 'A round of a check takes no longer than its step allows.',
    file: 'src/modules/orchestration/runs/control/run-control.ts',
    find: "about?.kind === 'check' ? about.step_timeout_ms : undefined",
    replace: 'undefined',
    test: LIMITS,
  },
  {
    guard: 'The time of a round runs for all of its steps.',
    file: 'db/migrations/0045_count_run_steps_together.ts',
    find: 'and s.made_by = f.made_by and s.round = f.round and s.due_at is null',
    replace: 'and s.bead_id = f.bead_id',
    test: LIMITS,
  },
  {
    guard: 'A timeout that no timer holds is refused.',
    file: 'src/modules/orchestration/formulas/compile/words.ts',
    find: 'else if (ms > most)',
    replace: 'else if (ms < 0)',
    test: CORPUS,
  },
  {
    guard: 'What a script said of a round counts no more when the round goes on.',
    file: 'src/modules/orchestration/runs/run-keeper.ts',
    find: 'await this.control.reopened(work, after);',
    replace: '',
    test: CHECKS_TEST,
  },
  {
    guard: 'Steps that a round adds are counted with it.',
    file: `${CONTROL}/run-control.ts`,
    find: 'await this.repository.grow(work.tx, streamId, run.id, made.length, reached);',
    replace: '',
    test: 'src/modules/orchestration/runs/run-kills.db-spec.ts',
    name: 'fan-out',
  },
  {
    guard: 'A step that a step of a limited round has made starts its clock.',
    file: 'src/modules/orchestration/runs/control/control.repository.ts',
    find: 'o.bead_id = s.owner and (o.limit_ms is not null or o.within is not null)',
    replace: 'o.bead_id = s.owner and o.limit_ms < 0',
    test: 'src/modules/orchestration/runs/limits/limits.db-spec.ts',
    name: 'begins with what a step',
  },
];
