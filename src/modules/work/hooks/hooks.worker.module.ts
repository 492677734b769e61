import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';
import { LeaseRepository } from './lease.repository.js';
import { LeaseSweeper } from './lease-sweeper.js';

/** What a worker does for claims: it takes back what dead owners hold. */
@Module({ imports: [WorkModule], providers: [LeaseRepository, LeaseSweeper] })
export class HooksWorkerModule {}
