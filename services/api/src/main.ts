import { runProcess } from '@opentill/runtime/run-process';
import { composeApi } from './compose.ts';

await runProcess('api', composeApi, process.env);
