import { runAlone } from '@opentill/runtime/run-alone';
import { composeWebhookSender } from './compose.ts';

await runAlone('webhook-sender', composeWebhookSender, process.env);
