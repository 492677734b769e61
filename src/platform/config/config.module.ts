import { Global, Module, type DynamicModule } from '@nestjs/common';
import { AppConfig } from './config.js';

/** Hands the frozen configuration to every room. One of the two global modules. */
@Global()
@Module({})
export class ConfigModule {
  static forRoot(config: AppConfig): DynamicModule {
    return { module: ConfigModule, providers: [{ provide: AppConfig, useValue: config }], exports: [AppConfig] };
  }
}
