import { Module } from '@nestjs/common';
import { RunnerListController } from './runner-list.controller.js';
import { RunnerListRepository } from './runner-list.repository.js';
import { RunnerWallsService } from './runner-walls.service.js';
import { RunnerListService } from './runner-list.service.js';

/** Who runs agents, over HTTP. */
@Module({
  controllers: [RunnerListController],
  providers: [RunnerListRepository, RunnerListService, RunnerWallsService],
  exports: [RunnerWallsService],
})
export class RunnerListModule {}
