import { Module } from '@nestjs/common';
import { FanOutKeeper } from './fan-out-keeper.js';
import { FanOutsRepository } from './fan-outs.repository.js';
import { WorkModule } from './work.module.js';

/** What a worker does for beads: it goes on with fan-outs. */
@Module({ imports: [WorkModule], providers: [FanOutKeeper, FanOutsRepository] })
export class WorkWorkerModule {}
