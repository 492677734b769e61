import { Module } from '@nestjs/common';
import { WorkModule } from '../work/work.module.js';

@Module({ imports: [WorkModule] })
export class MailWorkerModule {}
