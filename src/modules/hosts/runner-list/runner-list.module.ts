import { Module } from '@nestjs/common';
import { RunnerListController } from './runner-list.controller.js';
import { RunnerListCoreModule } from './runner-list-core.module.js';
import { RunnerWallsService } from './runner-walls.service.js';
import { RunnerListService } from './runner-list.service.js';

/** Who runs agents, over HTTP. */
@Module({
  imports: [RunnerListCoreModule],
  controllers: [RunnerListController],
  providers: [RunnerListService, RunnerWallsService],
  exports: [RunnerWallsService],
})
export class RunnerListModule {}
