import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger } from 'pino';
import { unseenWrittenOut } from '../../contract/unseen.js';
import { LogOutput } from './log-output.js';

export type { Logger } from 'pino';

/** What else is to be done with lines: what each of them says, and who hears of it beside stderr. */
export interface LogTap {
  readonly mixin: () => object;
  readonly line: (line: string) => void;
}

/** Structured JSON logs on stderr (stdout belongs to the program's output). Secrets never reach a line. */
export function createLogger(level: string, bindings: Record<string, unknown> = {}, tap?: LogTap): Logger {
  // An error of Redis holds the command that was refused, which for a connection is how it signs in.
  const paths = ['req.headers.authorization', '*.authorization', '*.password', '*.command.args'];
  const redact = { paths, censor: '[redacted]' };
  if (tap === undefined) return pino({ level, base: bindings, redact }, gathered());
  const out = gathered();
  const write = (line: string): void => {
    out.write(line);
    tap.line(line);
  };
  return pino({ level, base: bindings, redact, mixin: tap.mixin }, { ...out, write });
}

/**
 * So long lines wait for others: a write for each took an eighth of what a busy process does, and one for each 8 KiB still as much of a process
 * that has one core, where whoever writes and whoever waits for that take turns.
 */
const GATHER_MS = 50;
const GATHER_CHARS = 64 * 1024;

const output = new LogOutput(2);
/** What waits in this process is written before it ends, whatever ends it. */
const waiting = new Set<() => void>();
for (const end of ['beforeExit', 'exit'] as const)
  process.on(end, () => {
    for (const flush of waiting) flush();
    output.flushSync();
  });

/**
 * Lines that come together are written together, and what is fatal with all that waits. They wait here and not in pino's stream, which
 * measures all that it has again with each line: a third of what a busy process allocates, measured.
 */
function gathered(): DestinationStream & { flushSync(): void } {
  let lines: string[] = [];
  let chars = 0;
  const taken = (): string => {
    const text = lines.join('');
    lines = [];
    chars = 0;
    waiting.delete(flushSync);
    return text;
  };
  const flush = (): void => {
    if (lines.length > 0) output.write(taken());
  };
  const flushSync = (): void => output.flushSync(taken());
  return {
    write: (said) => {
      // Names and words of others stand in lines.
      const line = unseenWrittenOut(said);
      lines.push(line);
      chars += line.length;
      if (chars >= GATHER_CHARS) return flush();
      if (lines.length > 1) return;
      waiting.add(flushSync);
      setTimeout(flush, GATHER_MS).unref();
    },
    flushSync,
  };
}

/** Provider token for the process's logger: `constructor(private readonly log: AppLogger)`. */
export class AppLogger implements LoggerService {
  constructor(readonly pino: Logger) {}

  child(room: string): AppLogger {
    return new AppLogger(this.pino.child({ room }));
  }

  log(message: unknown, context?: string): void {
    this.pino.debug({ context }, String(message));
  }
  info(fields: Record<string, unknown>, message: string): void {
    this.pino.info(fields, message);
  }
  warn(message: unknown, ...rest: unknown[]): void {
    this.write('warn', message, rest);
  }
  error(message: unknown, ...rest: unknown[]): void {
    this.write('error', message, rest);
  }
  debug(message: unknown, ...rest: unknown[]): void {
    this.write('debug', message, rest);
  }
  verbose(message: unknown, ...rest: unknown[]): void {
    this.write('trace', message, rest);
  }
  fatal(message: unknown, ...rest: unknown[]): void {
    this.write('fatal', message, rest);
  }

  private write(level: 'warn' | 'error' | 'debug' | 'trace' | 'fatal', message: unknown, rest: unknown[]): void {
    const [first] = rest;
    if (typeof message === 'object' && message !== null && typeof first === 'string') this.pino[level](message, first);
    else this.pino[level]({ detail: rest.length ? rest : undefined }, String(message));
  }
}
