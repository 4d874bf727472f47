import { createHmac } from 'node:crypto';
import { changeServerUrl } from '@opentill/contracts/server-url';
import { devAccount } from '@opentill/devnets/evm/accounts';
import type { MerchantSettings } from './gateway-options.ts';
import { APPROVAL_ABOVE } from './prepare-policy.ts';

export interface SummarySource {
  readonly apiUrl: string;
  readonly shopUrl: string;
  readonly opsUrl: string;
  readonly operatorTokenFile: string;
  readonly approver: { readonly approverKeyFile: string; readonly approverPassphraseFile: string };
  readonly merchant: MerchantSettings;
  readonly chains: readonly {
    readonly chain: string;
    readonly rpcUrl: string;
    readonly blockTimeMs: number;
    readonly symbol: string;
    readonly hasDevnet: boolean;
  }[];
  readonly database: string;
  readonly broker: string;
  readonly logs: string;
  readonly orderId: string;
  readonly keep: boolean;
}

const RECEIVER = devAccount(9).address;

export function summaryScreen(source: SummarySource): string {
  const { apiUrl, shopUrl, merchant } = source;
  return [
    '',
    'Opentill is ready. Ctrl-C stops everything.',
    '',
    `  API        ${apiUrl}   (health: ${apiUrl}/readyz)`,
    `  Demo shop  ${shopUrl}   (callbacks: ${merchant.callbackUrl})`,
    `  Operators  ${source.opsUrl}   (token: ${source.operatorTokenFile}; npm run -s opentill -- --help)`,
    `  Merchant   token ${merchant.token}, webhook secret ${merchant.webhookSecret}, ${merchant.version}`,
    ...source.chains.map(
      ({ chain, rpcUrl, blockTimeMs }) =>
        `  Chain      ${chain.padEnd(12)} ${rpcUrl}   (a block every ${blockTimeMs === 1_000 ? 'second' : `${blockTimeMs} ms`})`,
    ),
    `  Postgres   ${source.database}`,
    `  RabbitMQ   ${source.broker}`,
    `  Logs       ${source.logs}`,
    '',
    'Create a first collection:',
    '',
    createCollectionCommand(source),
    '',
    ...(source.chains[0]?.hasDevnet === true ? stepsOnDevnet(source) : STEPS_ON_OWN_NODES),
    '',
    source.keep
      ? 'Data of the last run were kept.'
      : 'This start was fresh; "npm start -- --keep" continues with its data.',
    '',
  ].join('\n');
}

function stepsOnDevnet(source: SummarySource): readonly string[] {
  const { approverKeyFile, approverPassphraseFile } = source.approver;
  return [
    'Pay it as a customer (or open the shop, or the paymentUrl of the answer):',
    '',
    `  curl -s ${source.shopUrl}/devnet/pay -H 'content-type: application/json' -d '{"orderId":"${source.orderId}"}'`,
    '',
    'Send money from the hot wallet, as the merchant:',
    '',
    createPayoutCommand(source),
    '',
    `Above ${APPROVAL_ABOVE} it waits for an operator (payout list --waiting shows the id):`,
    '',
    `  npm run -s opentill -- payout approve <id> --key-file ${approverKeyFile} --passphrase-file ${approverPassphraseFile}`,
  ];
}

const STEPS_ON_OWN_NODES = [
  'Open the paymentUrl of the answer and pay with a wallet of that network.',
  'Payouts need money in the hot wallet: "npm run -s opentill -- keys show-xpub" shows where to send it.',
];

/** The signature covers only `data`, so that the shell can fill in timestamp and nonce. */
export function createCollectionCommand(
  source: Pick<SummarySource, 'apiUrl' | 'merchant' | 'orderId' | 'chains'>,
): string {
  return createCommand(source, 'createCollection', {
    orderId: source.orderId,
    amount: '12.50',
    symbol: source.chains[0]?.symbol ?? '',
    chain: source.chains[0]?.chain ?? '',
    uid: 'customer-1',
  });
}

export function createPayoutCommand(source: Pick<SummarySource, 'apiUrl' | 'merchant' | 'orderId'>): string {
  return createCommand(source, 'createPayout', {
    orderId: `${source.orderId}-out`,
    amount: '5.00',
    symbol: 'USDT',
    chain: 'ETH_SEPOLIA',
    receiveAddress: RECEIVER,
  });
}

function createCommand(
  source: Pick<SummarySource, 'apiUrl' | 'merchant'>,
  operation: 'createCollection' | 'createPayout',
  fields: Readonly<Record<string, string>>,
): string {
  const data = JSON.stringify(fields);
  const sign = createHmac('sha256', source.merchant.token).update(data).digest('hex');
  const body = `{"sign":"${sign}","timestamp":'$(date +%s)',"nonce":"'$(openssl rand -hex 12)'","data":${data}}`;
  return `  curl -s ${source.apiUrl}/v1/order/${operation} -H 'content-type: application/json' -d '${body}'`;
}

export function withoutPassword(url: string): string {
  return changeServerUrl(url, (parsed) => {
    if (parsed.password !== '') parsed.password = '***';
  });
}
