import { Module } from '@nestjs/common';
import { ConfigCoreModule } from '../config/config-core.module.js';

/** What a worker does for rigs. */
@Module({ imports: [ConfigCoreModule] })
export class RigsWorkerModule {}
