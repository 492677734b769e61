import type { AppConfig } from '../platform/config/config.js';
import type { EmbeddedOptions } from '../platform/embedded/embedded-postgres.js';
import { writeServerFile } from '../platform/embedded/server-file.js';
import type { Failpoints } from '../platform/failpoints/failpoints.js';
import { readPair, readText } from '../platform/http/tls/pair.js';
import type { AppLogger } from '../platform/logging/logger.js';
import type { Walls } from './processes/messages.js';
import type { PartTimings } from './processes/running-part.js';

export interface StartOptions {
  readonly sudoUid?: string | undefined;
  /** Armed by chaos runs only. */
  readonly failpoints?: Failpoints | undefined;
  /** False for a process without an HTTP server. */
  readonly listens?: boolean;
  readonly timings?: PartTimings;
  /** Called before steps that take time. */
  readonly onStep?: (what: string) => void;
  readonly onElsewhere?: (what: string) => void;
  /** The embedded server has ended by itself; the supervisor cannot go on. */
  readonly onLost?: () => void;
}

/** What is ready to be used. */
export interface Started {
  readonly url: string;
  readonly walls: Walls;
}

/** What `serve` starts: everything in this process, or in several that belong to it. */
export interface Service {
  readonly logger: AppLogger;
  readonly stopping: boolean;
  start(): Promise<Started>;
  /** In order, and also in the middle of a start. */
  stop(): Promise<void>;
  /** For a second signal: ends at once what would outlive this process. */
  abandon(): void;
}

/** Reads the files that the configuration names, so that a mistake in them shows before a database is made. */
export async function checkFiles(config: AppConfig): Promise<void> {
  if (config.tls !== undefined) await readPair(config.tls);
  if (config.caCert !== undefined) await readText('SVC_CA_CERT', config.caCert);
}

export function embeddedOptions({ sudoUid, onStep, onElsewhere }: StartOptions): EmbeddedOptions {
  return { sudoUid, ...(onStep === undefined ? {} : { onStep }), ...(onElsewhere === undefined ? {} : { onElsewhere }) };
}

/** The URL by which this machine reaches a server that listens at `url`: the wildcard addresses are no targets. */
export function calledAt(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

/** Tells clients of this machine where the service is. The service runs without it, too. */
export async function announce({ dataDir }: AppConfig, url: string, log: AppLogger): Promise<void> {
  await writeServerFile(dataDir, calledAt(url)).catch((error: unknown) => {
    log.warn({ err: error }, `clients do not find this server by themselves: ${dataDir} cannot be written`);
  });
}
