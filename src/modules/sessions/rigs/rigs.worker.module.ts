import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { OperationsModule } from '../../../platform/operations/operations.module.js';
import { RigLeftoversSweeper } from './rig-leftovers.sweeper.js';
import { RigsCoreModule } from './rigs-core.module.js';
import { RigsReconciler } from './rigs.reconciler.js';

/** What a worker does for rigs: it clones them, and removes what failed clones left. */
@Module({ imports: [EventLogModule, OperationsModule, RigsCoreModule], providers: [RigLeftoversSweeper, RigsReconciler] })
export class RigsWorkerModule {}
