import { runAlone } from '@opentill/runtime/run-process';
import { composeApi } from './compose.ts';

await runAlone('api', composeApi, process.env);
