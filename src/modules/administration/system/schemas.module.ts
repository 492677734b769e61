import { Module } from '@nestjs/common';
import { SchemasController } from './schemas.controller.js';

/** Served by api processes. */
@Module({ controllers: [SchemasController] })
export class SchemasModule {}
