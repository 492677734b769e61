import { Module } from '@nestjs/common';
import { CyclesRepository } from './cycles.repository.js';

/** Cycles as rows, for requests and for workers. */
@Module({ providers: [CyclesRepository], exports: [CyclesRepository] })
export class MaintenanceCoreModule {}
