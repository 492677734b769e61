import { Controller, Get, Header, Query } from '@nestjs/common';
import { z } from 'zod';
import type { Principal } from '../../../contract/principal.js';
import { Metrics } from '../../../platform/health/metrics.js';
import { Caller } from '../../../platform/http/caller.decorator.js';
import { Operation } from '../../../platform/http/operation.decorator.js';
import {
  ReadyQuery,
  SupervisorHealthOutputBody,
  SupervisorReadyOutputBody,
  type SupervisorHealth,
  type SupervisorReady,
} from './system.schemas.js';
import { SystemService } from './system.service.js';

/** What an orchestrator, a scraper and a person ask first. No key needed. */
@Controller()
export class SystemController {
  constructor(
    private readonly system: SystemService,
    private readonly metrics: Metrics,
  ) {}

  @Operation({
    id: 'get-health',
    summary: 'Health of the supervisor',
    description:
      'Needs no key. Where keys are needed, cities are counted, and the phase of a start told, for a key that is not limited to cities; ' +
      'the counts are -1 otherwise, and while the database does not tell.',
    response: SupervisorHealthOutputBody,
    public: true,
    knowsKeys: true,
  })
  @Get('health')
  health(@Caller() caller: Principal): SupervisorHealth | Promise<SupervisorHealth> {
    return this.system.health(caller);
  }

  @Operation({
    id: 'get-ready',
    summary: 'Whether this process can serve',
    description: 'For orchestrators and proxies: 503 names the parts that fail.',
    response: SupervisorReadyOutputBody,
    problems: ['unavailable'],
    public: true,
  })
  @Get('ready')
  ready(@Query({ schema: ReadyQuery }) query: ReadyQuery): Promise<SupervisorReady> {
    return this.system.ready(query);
  }

  @Operation({
    id: 'get-metrics',
    summary: 'Metrics of this process for Prometheus',
    description:
      'In the text format of Prometheus. Counters begin anew with the process. With `SVC_PROCESSES` it has what all processes behind this port say, ' +
      'each sample with the label `process`.',
    response: z.string(),
    contentType: 'text/plain',
    public: true,
  })
  @Get('metrics')
  @Header('content-type', 'text/plain; version=0.0.4; charset=utf-8')
  prometheus(): Promise<string> {
    return this.metrics.text();
  }
}
