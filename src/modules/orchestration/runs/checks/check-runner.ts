import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { AppConfig } from '../../../../platform/config/config.js';
import { DuePoller } from '../../../../platform/database/due-poller.js';
import { Transactions } from '../../../../platform/database/transactions.js';
import { Failpoints } from '../../../../platform/failpoints/failpoints.js';
import { Lifecycle } from '../../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../../platform/logging/logger.js';
import { Signals } from '../../../../platform/streams/signals.js';
import { sleep } from '../../../../platform/time/clock.js';
import { SessionTokens } from '../../../sessions/session-tokens/session-tokens.service.js';
import { CityCommands, type CityCommand, type CommandEnd } from '../../../sessions/launch/city-commands.js';
import { LeasedWork, LeaseTimings, type Held } from '../../../sessions/launch/leased-work.js';
import { BUSY_MS } from '../../../sessions/launch/passing.js';
import type { Places } from '../../../sessions/launch/places.js';
import { WorkService } from '../../../work/work/work.service.js';
import type { StoredVerdict } from '../control/facts.js';
import { CHECKS_TOPIC } from '../control/run-control.js';
import { RunKeeper } from '../run-keeper.js';
import { ChecksRepository, type CheckRow } from './checks.repository.js';

/** How long a script may take when neither it nor its step says so. */
const TIMEOUT_MS = 5 * 60_000;
/** A script whose worker is lost this often takes its workers with it. */
const ATTEMPTS = 3;
/** Bytes of output that are kept of a script: the last ones. */
const OUTPUT = 2_000;
/** Bytes of what the subject hands on that fit into an environment. */
const HANDED = 64 * 1024;

/**
 * Runs the scripts of checks on this host. What a script says counts once: in the transaction that keeps it the run goes on. A
 * script may run again when its worker is lost.
 */
@Injectable()
export class CheckRunner implements OnApplicationBootstrap {
  readonly #leased: LeasedWork<CheckRow>;

  constructor(
    private readonly config: AppConfig,
    private readonly repository: ChecksRepository,
    private readonly commands: CityCommands,
    private readonly work: WorkService,
    private readonly keeper: RunKeeper,
    private readonly tokens: SessionTokens,
    private readonly transactions: Transactions,
    private readonly timings: LeaseTimings,
    private readonly signals: Signals,
    private readonly due: DuePoller,
    private readonly lifecycle: Lifecycle,
    private readonly failpoints: Failpoints,
    private readonly log: AppLogger,
  ) {
    const source = {
      name: 'checks of runs',
      topic: CHECKS_TOPIC,
      due: repository.isDue,
      claim: (places: Places) => this.transactions.run((tx) => this.repository.claim(tx, this.worker, places, this.timings.leaseMs)),
      renew: (pks: readonly number[]) => this.repository.renew(this.worker, pks, this.timings.leaseMs),
      carryOut: (held: Held<CheckRow>) => this.#carryOut(held),
    };
    this.#leased = new LeasedWork(source, timings, log);
  }

  get worker(): string {
    return this.config.processId;
  }

  onApplicationBootstrap(): void {
    if (this.config.runnerCapacity > 0) this.#leased.begin(this.signals, this.due, this.lifecycle);
  }

  async #carryOut(held: Held<CheckRow>): Promise<void> {
    const { row: check, signal } = held;
    if (check.attempts > ATTEMPTS) return this.#settle(held, broken(check, `its worker was lost ${ATTEMPTS} times`));
    await this.failpoints.hit('check.begun');
    const began = performance.now();
    const { token, hash } = this.tokens.mintCommand({ kind: 'check', pk: check.pk });
    if (!(await this.repository.grant(check, this.worker, hash))) return;
    const end = await this.commands.run(commandOf(check, token), signal);
    if (held.lost) return;
    if (end.how === 'aborted' || end.how === 'busy') {
      // Nothing can be said of the round by what passes.
      if (end.how === 'busy') {
        this.log.warn(
          { city: check.city.name, run: check.run_id, error: end.error },
          'a script could not begin here just now; it is given back',
        );
        await sleep(BUSY_MS, signal);
      }
      return this.repository.giveBack(check, this.worker);
    }
    await this.failpoints.hit('check.before_verdict');
    await this.#settle(held, verdictOf(check, end, performance.now() - began));
  }

  #settle(held: Held<CheckRow>, verdict: StoredVerdict): Promise<void> {
    const { row: check } = held;
    return this.#leased.persist(held, () =>
      this.work.run(check.city, 'reconciler', async (work) => {
        if (await this.repository.settle(work.tx, check, this.worker, verdict)) await this.keeper.goOn(work, check.run_id);
      }),
    );
  }
}

function verdictOf(check: CheckRow, { how, code, output, error, unstarted }: CommandEnd, took: number): StoredVerdict {
  const said = { exit_code: code, duration_ms: Math.round(took), output: Buffer.from(output).subarray(-OUTPUT).toString().toWellFormed() };
  const { round } = check;
  if (how === 'exited') return { round, passed: true, reason: 'the script ended with 0', ...said };
  if (how === 'timeout') return { round, passed: false, reason: `the script was not done within ${timeoutOf(check)} ms`, ...said };
  if (unstarted) return broken(check, error ?? '');
  return { round, passed: false, reason: code === null ? `the script was ${error}` : `the script ended with ${code}`, ...said };
}

/** Nothing can be said of the round: another one would end the same way. */
function broken({ round }: CheckRow, why: string): StoredVerdict {
  return { round, passed: false, broken: true, reason: `the script could not be run: ${why}` };
}

function timeoutOf({ step: { control } }: CheckRow): number {
  return control.script_timeout_ms ?? control.step_timeout_ms ?? TIMEOUT_MS;
}

function commandOf(check: CheckRow, token: string): CityCommand {
  const { city, rig, formula, step, bead_id: bead, run_id: run, round, attempts, subject, output } = check;
  const handed = output !== null && Buffer.byteLength(output) <= HANDED ? { SVC_OUTPUT_JSON: output } : undefined;
  return {
    city,
    rig,
    script: step.control.script.file,
    owner: `check:${formula}`,
    id: `check-${city.streamId}-${check.pk}`,
    attempt: attempts,
    env: {},
    said: {
      SVC_AGENT: `check:${formula}`,
      BEADS_ACTOR: `check:${formula}`,
      SVC_FORMULA: formula,
      SVC_RUN_ID: run,
      SVC_SESSION_TOKEN: token,
      SVC_STEP: step.id,
      SVC_STEP_ID: bead,
      SVC_SUBJECT_ID: subject ?? '',
      SVC_ITERATION: String(round),
      ...handed,
    },
    timeoutMs: timeoutOf(check),
  };
}
