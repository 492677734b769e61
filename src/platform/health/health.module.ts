import { Global, Module } from '@nestjs/common';
import { Lifecycle } from './lifecycle.js';
import { Metrics } from './metrics.js';
import { Readiness } from './readiness.js';

/** Readiness checks, ordered shutdown and the metrics registry: used by every room, so global. */
@Global()
@Module({ providers: [Readiness, Lifecycle, Metrics], exports: [Readiness, Lifecycle, Metrics] })
export class HealthModule {}
