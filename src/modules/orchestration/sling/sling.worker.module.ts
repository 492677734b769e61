import { Module } from '@nestjs/common';
import { SlingBatchesReconciler } from './sling-batches.reconciler.js';
import { SlingBatchesRetention } from './sling-batches.retention.js';
import { SlingCoreModule } from './sling-core.module.js';

/** What a worker does for slings: it carries out batches of many. */
@Module({ imports: [SlingCoreModule], providers: [SlingBatchesReconciler, SlingBatchesRetention] })
export class SlingWorkerModule {}
