import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './lifecycle.js';
import { MemoryReturn } from './memory-return.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

/** Readiness checks, ordered shutdown, the metrics registry and the return of memory: used by every room, so global. */
@Global()
@Module({ providers: [Readiness, Lifecycle, Metrics, MemoryReturn], exports: [Readiness, Lifecycle, Metrics, MemoryReturn] })
export class HealthModule {}
