import { Module } from '@nestjs/common';
import { EventLogModule } from '../../../platform/event-log/event-log.module.js';
import { WorkRepository } from './work.repository.js';
import { WorkService } from './work.service.js';

/** Transactions on a city's work, for the families of beads, convoys, mail, sling, waits and hooks. */
@Module({ imports: [EventLogModule], providers: [WorkRepository, WorkService], exports: [WorkService] })
export class WorkModule {}
