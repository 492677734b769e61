import type { Guard } from './guard.js';

const RUNS = 'src/modules/orchestration/runs';
const RACES = `${RUNS}/run-races.db-spec.ts`;
const KEEPER = `${RUNS}/run-keeper.db-spec.ts`;
const LAUNCH = `${RUNS}/launch/launch.db-spec.ts`;
const AHEAD = `${RUNS}/launch/launch-ahead.db-spec.ts`;
const GATES = `${RUNS}/gates/gates.db-spec.ts`;
const BATCH = 'src/modules/orchestration/sling/sling-batch-formulas.db-spec.ts';

/** Formulas that are carried out. */
export const RUN_GUARDS: readonly Guard[] = [
  {
    guard: 'A bead has one live run of a formula: a repeat is answered with the first.',
    file: `${RUNS}/launch/launch.service.ts`,
    find: 'if (same !== undefined) return { run: same, created: false };',
    replace: '',
    test: RACES,
  },
  {
    guard: 'Beads that were written ahead are what the city is now, not what it was.',
    file: `${RUNS}/launch/launch.service.ts`,
    find: 'isDeepStrictEqual({ ...now, ids: ready.input.ids }, ready.input)',
    replace: 'now.recipe === ready.input.recipe',
    test: AHEAD,
  },
  {
    guard: 'Beads that were written ahead and are nobody’s go again.',
    file: 'src/modules/work/work/work.service.ts',
    find: 'if (unused.length > 0) await',
    replace: 'if (unused.length < 0) await',
    test: AHEAD,
  },
  {
    guard: 'Nothing finds beads that were written ahead before they are made.',
    file: 'src/modules/work/work/work.ts',
    find: ' && !this.written.hides(id)',
    replace: '',
    test: AHEAD,
  },
  {
    guard: 'Beads that were written ahead are told as they are in the end.',
    file: 'src/modules/work/work/account.ts',
    find: 'entry.rows.every((row) => this.#now.get(row.id) === row)',
    replace: 'entry.rows.length > 0',
    test: AHEAD,
  },
  {
    guard: 'A launch that is answered again under its key reserves no ids.',
    file: `${RUNS}/launch/launch-ahead.service.ts`,
    find: 'if (isOver !== undefined && (await unrefused(() => isOver(work))) !== false) return foreseen;',
    replace: '',
    test: AHEAD,
  },
  {
    guard: 'A second live run of a bead and formula cannot be written.',
    file: 'db/migrations/0039_create_runs.ts',
    find: 'create unique index runs_live_key',
    replace: 'create index runs_live_key',
    test: RACES,
  },
  {
    guard: 'A run ends once.',
    file: `${RUNS}/runs.repository.ts`,
    find: 'and r.id = ${id} and r.outcome is null returning',
    replace: 'and r.id = ${id} returning',
    test: RACES,
  },
  {
    guard: 'A run is not done while one of its steps is open.',
    file: `${RUNS}/run-keeper.ts`,
    find: 'now.root_only || now.closed < now.steps',
    replace: 'now.root_only',
    test: KEEPER,
  },
  {
    guard: 'What needs a step that has failed is skipped.',
    file: `${RUNS}/run-keeper.ts`,
    find: "if (step.metadata['gc.outcome'] === 'fail') await this.#skipBehind(work, run, step);",
    replace: '',
    test: KEEPER,
  },
  {
    guard: 'Nothing closes over a gate that is waited for.',
    file: `${RUNS}/run-keeper.ts`,
    find: 'if (run.gates > 0) continue;',
    replace: '',
    test: KEEPER,
  },
  {
    guard: 'Steps are counted where beads change.',
    file: 'db/migrations/0045_count_run_steps_together.ts',
    find: "sum(b.sign * (b.status = 'in_progress')::integer)::integer as active,",
    replace: '0 as active,',
    test: KEEPER,
  },
  {
    guard: 'A graph without its input is not launched.',
    file: `${RUNS}/launch/launch-plan.ts`,
    find: 'if (known === undefined && recipe.at_run.includes(name)) throw unknown(name, recipe.formula);',
    replace: '',
    test: LAUNCH,
  },
  {
    guard: 'A part holds its whole up: nobody is offered what only others make.',
    file: `${RUNS}/launch/launch-plan.ts`,
    find: "if (parent !== undefined && parent !== root!.id) put(id, parent, 'blocks');",
    replace: '',
    test: LAUNCH,
  },
  {
    guard: 'The time of a gate begins when it is reached.',
    file: 'db/migrations/0040_create_run_controls.ts',
    find: 'and c.bead_id = new.id and c.gate is not null;',
    replace: 'and false;',
    test: GATES,
  },
  {
    guard: 'A gate waits for no run that is not there.',
    file: `${RUNS}/gates/gate-opening.service.ts`,
    find: "if (type === 'run' && !exists) return",
    replace: "if (type === 'run' && exists === undefined) return",
    test: GATES,
    name: 'not there any more',
  },
  {
    guard: 'What a transaction has written of a part that is refused is undone.',
    file: 'src/modules/work/work/work.ts',
    find: 'await repository.backToMark(tx);',
    replace: '',
    test: 'src/modules/work/work/work.db-spec.ts',
  },
  {
    guard: 'What a transaction knows of a part that is refused is forgotten.',
    file: 'src/modules/work/work/work.ts',
    find: 'tried.giveUp();',
    replace: '',
    test: 'src/modules/work/work/work.db-spec.ts',
  },
  {
    guard: 'A batch whose formula fits none of its beads is refused as a whole.',
    file: 'src/modules/orchestration/sling/batch-formulas.ts',
    find: 'if (first instanceof ProblemError && [...ready.values()].every((one) => one instanceof ProblemError)) throw first;',
    replace: 'void first;',
    test: BATCH,
  },
  {
    guard: 'How many steps one batch launches is bounded.',
    file: 'src/modules/orchestration/sling/batch-formulas.ts',
    find: 'if (steps > most || characters > MAX_BATCH_CHARACTERS)',
    replace: 'if (steps < 0)',
    test: BATCH,
  },
  {
    guard: 'A step of a batch of slings is done once, whoever thinks that the batch is his.',
    file: 'src/modules/orchestration/sling/sling-batches.reconciler.ts',
    find: 'if (now === undefined || now.canceled || now.done !== done) return;',
    replace: 'if (now === undefined) return;',
    test: 'src/modules/orchestration/sling/sling-batches.db-spec.ts',
  },
  {
    guard: 'What a graph does is offered to nobody beside it.',
    file: `${RUNS}/launch/launch.service.ts`,
    find: "[ROUTE]: '', [EXECUTED_BY]: target ?? ''",
    replace: "[EXECUTED_BY]: target ?? ''",
    test: BATCH,
  },
  {
    guard: 'A graph for a bead of one rig does not go to an agent of another.',
    file: 'src/modules/orchestration/sling/sling-dispatch.ts',
    find: 'if (other !== undefined) throw other;',
    replace: 'void other;',
    test: 'src/modules/orchestration/sling/sling-modes.db-spec.ts',
  },
  {
    guard: 'A graph that nobody could do anything for is not launched.',
    file: `${RUNS}/launch/claimable.ts`,
    find: "if (compiler === 1 || root_only || steps.slice(1).some(({ kind }) => kind !== 'gate' && kind !== 'scope')) return;",
    replace: 'if (steps.length > 0) return;',
    test: `${RUNS}/launch/claimable.spec.ts`,
  },
  {
    guard: 'A recipe that says something of the bead it is for is not used for another bead.',
    file: `${RUNS}/launch/recipes.ts`,
    find: 'if (compiled?.recipe !== undefined && !(compiled.ofIssue === true && issue !== undefined))',
    replace: 'if (compiled?.recipe !== undefined)',
    test: `${RUNS}/launch/preparation.spec.ts`,
  },
  {
    guard: 'What a recipe is made of includes the revision of the configuration.',
    file: `${RUNS}/launch/preparation.service.ts`,
    find: '[city.streamId, hash, rig, name, given, injected]',
    replace: '[city.streamId, rig, name, given, injected]',
    test: `${RUNS}/launch/preparation.spec.ts`,
  },
  {
    guard: 'The event of a bead that a launch has made says the same of its edges as a read of it.',
    file: 'src/modules/work/work/work.repository.ts',
    find: ' filter (where p.blocking) as needs',
    replace: ' as needs',
    test: 'src/modules/work/work/work.db-spec.ts',
    name: 'tells of many',
  },
];
