import { Injectable } from '@nestjs/common';
import { execa } from 'execa';
import { AppConfig } from '../../../platform/config/config.js';
import { AppLogger } from '../../../platform/logging/logger.js';
import { atOnce } from '../../../platform/time/at-once.js';

export interface ScaleCheck {
  /** Qualified name of the agent. */
  readonly agent: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

const LIMIT_MS = 10_000;
const PASSED = /^(PATH|HOME|USER|LOGNAME|TZ|TMPDIR|LANG|LC_[A-Z]+)$/;
const AT_ONCE = 8;
const MAX_DEMAND = 10_000;
const MAX_OUTPUT = 64 * 1024;

/**
 * Runs the commands with which agents say how many more sessions they need: one number, in a shell of its own, with
 * nothing of our environment beyond an allow-list. A command that fails or says anything else asks for none.
 */
@Injectable()
export class ScaleChecks {
  /** Milliseconds for one command. */
  limitMs = LIMIT_MS;
  readonly #known = new Map<string, { at: number; demand: number }>();

  constructor(
    private readonly config: AppConfig,
    private readonly log: AppLogger,
  ) {}

  /** The demand by agent; a value younger than `freshMs` is used again. */
  async ask(city: string, checks: readonly ScaleCheck[], freshMs: number, signal?: AbortSignal): Promise<Map<string, number>> {
    const demand = new Map<string, number>();
    const ask = async (check: ScaleCheck): Promise<unknown> => demand.set(check.agent, await this.#ask(city, check, freshMs, signal));
    await atOnce(AT_ONCE, checks, ask, signal);
    return demand;
  }

  async #ask(city: string, check: ScaleCheck, freshMs: number, signal: AbortSignal | undefined): Promise<number> {
    const key = `${city}\0${check.agent}\0${check.command}`;
    const known = this.#known.get(key);
    const now = performance.now();
    if (known !== undefined && now - known.at < freshMs) return known.demand;
    const demand = await this.#run(check, signal);
    this.#known.set(key, { at: now, demand });
    if (this.#known.size > 10_000) this.#known.delete(this.#known.keys().next().value!);
    return demand;
  }

  async #run({ agent, command, cwd, env }: ScaleCheck, signal: AbortSignal | undefined): Promise<number> {
    const running = execa('/bin/sh', ['-c', command], {
      cwd,
      env: { ...this.#passed(), ...env },
      extendEnv: false,
      // A group of its own, so that nothing of it outlives its time.
      detached: true,
      stdin: 'ignore',
      maxBuffer: MAX_OUTPUT,
      reject: false,
    });
    const end = (): void => endGroup(running.pid);
    const timer = setTimeout(end, this.limitMs);
    signal?.addEventListener('abort', end, { once: true });
    const result = await running.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      end();
    });
    const said = typeof result.stdout === 'string' ? result.stdout.trim() : '';
    if (!result.failed && /^\d{1,9}$/.test(said)) return Math.min(Number(said), MAX_DEMAND);
    this.log.warn({ agent, failed: result.failed }, 'scale_check did not say a number; it counts as none');
    return 0;
  }

  /** No credentials: it counts work, it does none. */
  #passed(): Record<string, string> {
    return Object.fromEntries(Object.entries(this.config.agentEnvironment).filter(([name]) => PASSED.test(name)));
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
