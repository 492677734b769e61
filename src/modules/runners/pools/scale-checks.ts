import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../../platform/config/config.js';
import { Lifecycle } from '../../../platform/health/lifecycle.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { sleep } from '../../../platform/time/clock.js';
import { Turns } from '../../../platform/turns/turns.js';
import { CityCommands, type CityCommand } from '../../sessions/launch/city-commands.js';
import { BUSY_MS } from '../../sessions/launch/passing.js';

export interface ScaleCheck {
  /** Qualified name of the agent, and the rig it is of; '' for the city. */
  readonly agent: string;
  readonly rig: string;
  readonly command: string;
  /** The file that says so, as `Issue.file` names it. */
  readonly file: string;
}

type City = CityCommand['city'];

const LIMIT_MS = 10_000;
const MAX_DEMAND = 10_000;
const NAME = /^scale-[\da-f-]{36}@(.+)\.\d+$/;

/** The process whose command carries this mark as its generation; undefined of anything else. No row tells of a command as long as it runs. */
export function askerOf(generation: string): string | undefined {
  return NAME.exec(generation)?.[1];
}

/** Commands of this process at once, and of a city: they may take as long as the limit. */
const CITY = { alone: 4, beside: 2 };
export const SCALE_CHECKS = 8;
const TURNS = { places: SCALE_CHECKS, city: CITY, key: CITY };
/** Cities of which answers are kept: those that were asked for last. */
const CITIES = 10_000;

/** What a command has said. */
class Answer {
  /** Undefined until it has said anything, be it none; and when. */
  demand: number | undefined;
  heardAt = -Infinity;
  /** Since when it is awaited by who decides, and when it was wanted last. */
  awaitedAt: number | undefined;
  wantedAt = -Infinity;
  askedAt = -Infinity;
  /** How often it was killed one after the other. */
  kills = 0;
  /** Also until it is asked again by itself. */
  asking = false;
  /** The log knows that it cannot begin. */
  isTold = false;

  constructor(public check: ScaleCheck) {}
}

/** Why a command has said nothing. */
interface Unheard {
  readonly error: string | undefined;
  readonly killed: boolean;
}

/**
 * Runs the commands with which agents say how many more sessions they need, one number, as whatever a city's files have run: behind
 * its walls. Nobody waits for them: what they have said last counts until they say something else, or have not been heard for long. A
 * command that fails or says anything but a number asks for none; what one would have said that could not begin, or that somebody has ended, nobody knows.
 */
@Injectable()
export class ScaleChecks {
  /** Milliseconds for one command. */
  limitMs = LIMIT_MS;
  /** Milliseconds until one that could not begin is asked again. */
  busyMs = BUSY_MS;
  readonly #cities = new Map<number, ReadonlyMap<string, Answer>>();
  readonly #turns = new Turns(TURNS);
  readonly #stop = new AbortController();
  readonly #works = new Set<Promise<void>>();
  #tell: (city: City) => void = () => undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly commands: CityCommands,
    private readonly log: AppLogger,
    lifecycle: Lifecycle,
  ) {
    lifecycle.onStop('worker', 'scale checks', () => this.stop());
  }

  /** Called with a city of which a command has said something new. */
  onNews(tell: (city: City) => void): void {
    this.#tell = tell;
  }

  /**
   * What the commands of a city have said, by agent; those older than `freshMs` are asked again. Undefined as long as one that was never
   * heard, or not for long, may still be within its time: other workers may have heard it, and decide meanwhile. Once that is over it is
   * undefined by itself, and not none, until it is heard: the others are not kept waiting. Where no programs of cities are run at all it is
   * always left to other workers.
   */
  answers(city: City, checks: readonly ScaleCheck[], freshMs: number): ReadonlyMap<string, number | undefined> | undefined {
    if (this.config.runnerCapacity === 0) return undefined;
    const known = this.#cities.get(city.streamId);
    const answers = new Map<string, Answer>();
    const now = performance.now();
    for (const check of checks) {
      const before = known?.get(check.agent);
      const answer = before?.check.command === check.command ? before : new Answer(check);
      answer.check = check;
      answer.wantedAt = now;
      answers.set(check.agent, answer);
      if (!answer.asking && now - answer.askedAt >= freshMs) this.#ask(city, answer, freshMs);
    }
    this.#keep(city, answers);
    const isAwaited = [...answers.values()].map((answer) => this.#isAwaited(answer, freshMs, now));
    if (isAwaited.includes(true)) return undefined;
    return new Map([...answers].map(([agent, { demand, awaitedAt }]) => [agent, awaitedAt === undefined ? demand : undefined]));
  }

  #isAwaited(answer: Answer, freshMs: number, now: number): boolean {
    if (this.#isRecent(answer.heardAt, freshMs, now)) answer.awaitedAt = undefined;
    else return now - (answer.awaitedAt ??= now) < this.limitMs;
    return false;
  }

  /** What was asked twice since has had its time. */
  #isRecent(at: number, freshMs: number, now: number): boolean {
    return now - at <= 2 * freshMs + this.limitMs;
  }

  /** Ends what runs. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.allSettled(this.#works);
  }

  #keep(city: City, answers: ReadonlyMap<string, Answer>): void {
    this.#cities.delete(city.streamId);
    this.#cities.set(city.streamId, answers);
    if (this.#cities.size > CITIES) this.#cities.delete(this.#cities.keys().next().value!);
  }

  #ask(city: City, answer: Answer, freshMs: number): void {
    answer.asking = true;
    answer.askedAt = performance.now();
    const party = { owner: city.name, limited: true, lane: '' };
    const granted = (): void => {
      const work = this.#run(city, answer.check)
        .then((said) => {
          answer.asking = false;
          // What is ended because this process stops has said nothing.
          if (this.#stop.signal.aborted) return;
          if (typeof said !== 'number') return this.#askSoon(city, answer, freshMs, said);
          const isNews = answer.demand !== said || answer.awaitedAt !== undefined;
          answer.demand = said;
          answer.heardAt = performance.now();
          answer.isTold = false;
          answer.kills = 0;
          if (isNews) this.#tell(city);
        })
        .finally(() => {
          this.#turns.leave(party);
          this.#works.delete(work);
        });
      this.#works.add(work);
    };
    if (this.#turns.take(party)) granted();
    else this.#turns.wait(party, granted);
  }

  /**
   * What could not begin, or was ended, has said nothing. It waits for no look at its city, which goes on without it, as long as there are any.
   * One that is killed again and again may do that itself: it is asked less and less, and at last as seldom as any other.
   */
  #askSoon(city: City, answer: Answer, freshMs: number, { error, killed }: Unheard): void {
    const { agent } = answer.check;
    if (!answer.isTold && performance.now() - (answer.awaitedAt ?? Infinity) >= this.limitMs) {
      answer.isTold = true;
      this.log.warn(
        { city: city.name, agent, error },
        'scale_check cannot begin on this host, or does not come to its end; this worker begins no session for it until it can',
      );
    }
    answer.asking = true;
    const pauseMs = killed ? Math.max(this.busyMs, Math.min(this.busyMs * 2 ** answer.kills++, freshMs)) : this.busyMs;
    void sleep(pauseMs, this.#stop.signal).then(() => {
      answer.asking = false;
      const isWanted =
        this.#cities.get(city.streamId)?.get(agent) === answer && this.#isRecent(answer.wantedAt, freshMs, performance.now());
      if (isWanted && !this.#stop.signal.aborted) this.#ask(city, answer, freshMs);
    });
  }

  async #run(city: City, { agent, rig, command, file }: ScaleCheck): Promise<number | Unheard> {
    if (this.#stop.signal.aborted) return 0;
    const asked: CityCommand = {
      city,
      rig,
      line: command,
      file,
      owner: `scale:${agent}`,
      id: `scale-${randomUUID()}@${this.config.processId}`,
      attempt: 1,
      env: {},
      said: { SVC_AGENT: agent },
      timeoutMs: this.limitMs,
    };
    try {
      const { how, said = '', error, killed } = await this.commands.run(asked, this.#stop.signal);
      if (how === 'busy' || killed) return { error, killed: how !== 'busy' };
      const number = said.trim();
      if (how === 'exited' && /^\d{1,9}$/.test(number)) return Math.min(Number(number), MAX_DEMAND);
      if (how !== 'aborted') this.log.warn({ city: city.name, agent, how, error }, 'scale_check did not say a number; it counts as none');
    } catch (error) {
      this.log.warn({ err: error, city: city.name, agent }, 'what a scale_check has left could not be ended');
    }
    return 0;
  }
}
