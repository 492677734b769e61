import { Injectable } from '@nestjs/common';
import { AcpRuntime } from '../../../platform/runtime/acp/acp-runtime.js';
import { ExecRuntime } from '../../../platform/runtime/exec/exec-runtime.js';
import type { AgentRuntime, Transport } from '../../../platform/runtime/port.js';
import { PtyRuntime } from '../../../platform/runtime/pty/pty-runtime.js';
import { AgentRuntimes } from './ports.js';

/** The adapters that the product ships. */
@Injectable()
export class ShippedRuntimes extends AgentRuntimes {
  readonly #runtimes = new Map<Transport, AgentRuntime>(
    [new AcpRuntime(), new PtyRuntime(), new ExecRuntime()].map((r) => [r.transport, r]),
  );

  of(transport: Transport): AgentRuntime | undefined {
    return this.#runtimes.get(transport);
  }
}
