import type { Registry } from 'prom-client';
import type { AppConfig } from '../config/config.js';
import type { AppLogger, LogTap } from '../logging/logger.js';
import { currentSpan } from './spans.js';

/** What is told elsewhere of this process while it runs. */
export interface Telemetry {
  observe(registry: Registry): void;
  /** Sends what waits, for as long as a process may take to end. */
  stop(): Promise<void>;
}

let line: ((line: string) => void) | undefined;

/** What a log needs whose lines say what they are part of, and are sent; undefined where nothing is. */
export function tapOf({ telemetry }: AppConfig): LogTap | undefined {
  if (telemetry === undefined) return undefined;
  return {
    mixin: () => {
      const span = currentSpan();
      return span === undefined ? {} : { trace_id: span.traceId };
    },
    line: (text) => line?.(text),
  };
}

/** Loads what sends, and only where something is to be sent. To be called before applications are made. */
export async function startTelemetry(config: AppConfig, log: AppLogger): Promise<Telemetry | undefined> {
  if (config.telemetry === undefined) return undefined;
  const { Sdk } = await import('./sdk.js');
  const sdk = new Sdk(config, config.telemetry, log);
  line = sdk.line;
  return {
    observe: sdk.observe,
    stop: async () => {
      line = undefined;
      await sdk.stop();
    },
  };
}
