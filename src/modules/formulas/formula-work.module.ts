import { Module } from '@nestjs/common';
import { ThreadsModule } from '../../platform/threads/threads.module.js';
import { ConfigCoreModule } from '../config/config-core.module.js';
import { FormulaWork } from './formula-work.js';

/** Compiling, for whoever shows or launches formulas. */
@Module({ imports: [ConfigCoreModule, ThreadsModule], providers: [FormulaWork], exports: [FormulaWork] })
export class FormulaWorkModule {}
