import { runAlone } from '@opentill/runtime/run-process';
import { composeScanner } from './compose.ts';

await runAlone('scanner-sui', composeScanner, process.env);
