import { Injectable, type OnApplicationBootstrap, type OnModuleInit } from '@nestjs/common';
import { DuePoller } from '../../../platform/database/due-poller.js';
import { Operations } from '../../../platform/operations/operations.js';
import { CreateEndingsRepository } from './create-endings.repository.js';
import { SessionDeletionsRepository } from './session-deletions.repository.js';
import { SessionRetention } from './session-retention.service.js';
import { SessionCreate } from './sessions.operations.js';

const TICK_MS = 2_000;

/** The deadline of operations that make sessions, and records that are to be deleted once their session has ended. */
@Injectable()
export class SessionsReconciler implements OnModuleInit, OnApplicationBootstrap {
  constructor(
    private readonly operations: Operations,
    private readonly repository: CreateEndingsRepository,
    private readonly deletions: SessionDeletionsRepository,
    private readonly retention: SessionRetention,
    private readonly due: DuePoller,
  ) {}

  onModuleInit(): void {
    this.operations.registerHandler({
      definition: SessionCreate,
      run: () => Promise.reject(new Error('session.create is not run by a worker')),
      lock: (tx, target, stream) => this.repository.lockSession(tx, stream, target.split('/')[1] ?? ''),
    });
  }

  onApplicationBootstrap(): void {
    this.due.repeat({
      name: 'deleted sessions',
      everyMs: TICK_MS,
      due: this.deletions.isDue,
      work: (signal) => this.retention.sweep(signal),
    });
  }
}
