import type { OpsAnswer } from '@opentill/contracts/ops/catalog';
import { SETTINGS_MERCHANT_ID } from '@opentill/contracts/ops/fields';
import { usage, type CliContext } from '../context.ts';
import { openOps, type EarlierAnswer } from '../ops-client.ts';
import { parseDurationSeconds } from '../parse-moment.ts';
import { requireHttpUrl, requireOrigin } from '../require-url.ts';

const MERCHANTS_MAX = 10_000;
const OVERLAP_MAX_SECONDS = 90 * 86_400;
type Shown = EarlierAnswer<OpsAnswer<'getMerchant'>, 'markupBps'>;

const MERCHANT_ID = /^[A-Za-z0-9_-]{1,64}$/;

export async function createMerchant(
  context: CliContext,
  options: {
    readonly id: string;
    readonly name?: string;
    readonly merchantVersion: string;
    readonly callbackUrl?: string;
    readonly returnOrigin?: readonly string[];
  },
): Promise<void> {
  const { merchantVersion: version } = options;
  if (version !== 'V2' && version !== 'V3') {
    throw usage('--merchant-version must be V2 or V3.');
  }
  if (!MERCHANT_ID.test(options.id)) {
    throw usage(`${options.id} is not a merchant id: 1 to 64 letters, digits, - and _.`);
  }
  const origins = options.returnOrigin ?? [];
  if (options.callbackUrl !== undefined) requireHttpUrl('--callback-url', options.callbackUrl);
  for (const origin of origins) requireOrigin('--return-origin', origin);
  const ops = await openOps(context);
  const { token, webhookSecret } = await ops.call('createMerchant', {
    merchantId: options.id,
    name: options.name ?? options.id,
    version,
    callbackUrl: options.callbackUrl ?? null,
    returnOrigins: origins,
  });
  context.print(`merchant        ${options.id}`);
  context.print(`base URL        /m/${options.id}, after the address of the API`);
  context.print(`token           ${token}`);
  context.print(`webhook secret  ${webhookSecret}`);
  context.print('Both are shown once. The token signs requests, the webhook secret verifies callbacks.');
}

export async function printMerchants(context: CliContext): Promise<void> {
  const ops = await openOps(context);
  for (const m of await ops.list('listMerchants', {}, MERCHANTS_MAX)) {
    context.print(
      `${m.merchantId}\t${m.version}\t${m.enabled ? 'enabled' : 'disabled'}\t${m.callbackUrl ?? '-'}\t${m.name}${describeCallbacks(m)}`,
    );
  }
}

export async function printMerchant(context: CliContext, merchantId: string): Promise<void> {
  const m: Shown = await (await openOps(context)).call('getMerchant', { merchantId });
  const logo = m.logoType === null ? null : `${m.logoType}, SHA-256 ${m.logoHash ?? '?'}`;
  const lines: readonly (readonly [string, string | number | null])[] = [
    ['merchant', m.merchantId],
    ['state', m.enabled ? 'enabled' : 'disabled'],
    ['name', m.name],
    ['logo', logo],
    ['accent colour', m.accentColor],
    ['support URL', m.supportUrl],
    ['support mail', m.supportEmail],
    ['shop URL', m.shopUrl],
    ['API', `${m.version}, signature version ${m.signVersion}`],
    ['callback URL', `${m.callbackUrl ?? '-'}${describeCallbacks(m)}`],
    ['opt-in callbacks', optInCallbacks(m)],
    ['return origins', m.returnOrigins.join(' ')],
    ['order lifetime', `${m.orderTtlSeconds} s`],
    ['tolerance', `${m.underpaymentToleranceBps} bps`],
    ['markup', `${m.markupBps ?? 0} bps`],
    ['late grace', `${m.lateGraceSeconds} s`],
    ['rate limits', JSON.stringify(m.rateLimits)],
  ];
  for (const [name, value] of lines)
    context.print(`${name.padEnd(18)}${value === null || value === '' ? '-' : value}`);
}

function optInCallbacks({ notifyReverted, notifyUnmatched }: Shown): string {
  return [notifyReverted && 'ORDER_REVERTED', notifyUnmatched && 'ORDER_UNMATCHED']
    .filter(Boolean)
    .join(', ');
}

function describeCallbacks(m: Shown): string {
  const since = m.endpointSince ?? '?';
  const parts = [
    m.endpointState === 'DISABLED' && `callbacks disabled since ${since}: ${m.disabledReason ?? '?'}`,
    m.endpointState === 'OPEN' && `callbacks rest since ${since}`,
    m.webhookSecretSwitchAt !== null && `webhook secret changes at ${m.webhookSecretSwitchAt}`,
  ].filter((part) => part !== false);
  return parts.length === 0 ? '' : `\t${parts.join('; ')}`;
}

export interface RotateOptions {
  readonly overlap?: string;
  readonly finish?: boolean;
  readonly cancel?: boolean;
}

/** The old secret stops working at once, except a webhook secret with an overlap: then callbacks carry both. */
export async function rotateMerchant(
  context: CliContext,
  id: string,
  what: string,
  { overlap, finish, cancel }: RotateOptions,
): Promise<void> {
  if (what !== 'token' && what !== 'webhook-secret') {
    throw usage('The argument must be token or webhook-secret.');
  }
  if (id === SETTINGS_MERCHANT_ID) {
    const variable = what === 'token' ? 'MERCHANT_TOKEN' : 'WEBHOOK_SECRET';
    throw usage(`The settings define the ${what} of ${id}: change ${variable} and run setup.`);
  }
  const modes = [overlap, finish, cancel].filter((option) => option !== undefined).length;
  if (modes > 1) throw usage('Give only one of --overlap, --finish and --cancel.');
  if (what === 'token') {
    if (modes > 0)
      throw usage('--overlap, --finish and --cancel are for webhook-secret: a token changes at once.');
    const { token } = await (await openOps(context)).call('rotateToken', { merchantId: id });
    context.print(`new token of ${id}: ${token}`);
  } else if (finish === true || cancel === true) {
    const action = finish ? 'FINISH' : 'CANCEL';
    await (await openOps(context)).call('rotateWebhookSecret', { merchantId: id, action });
    context.print(`Only the ${finish ? 'new' : 'old'} webhook secret of ${id} signs from now on.`);
  } else {
    await rotateSecret(context, id, overlap);
  }
}

async function rotateSecret(context: CliContext, id: string, overlap: string | undefined): Promise<void> {
  const overlapSeconds =
    overlap === undefined ? 0 : parseDurationSeconds('--overlap', overlap, OVERLAP_MAX_SECONDS);
  const ops = await openOps(context);
  const rotation = { merchantId: id, action: 'ROTATE', overlapSeconds } as const;
  const { webhookSecret, switchAt } = await ops.call('rotateWebhookSecret', rotation);
  context.print(`new webhook-secret of ${id}: ${webhookSecret ?? ''}`);
  if (switchAt === null) return;
  context.print(
    `Until ${switchAt} sign and X-Signature are made with the old one, X-Signature-Next with the new one, webhook-signature with both.`,
  );
}
