import { readConfig } from '@opentill/runtime/config';
import { chooseNetworks } from '../read-networks.ts';
import { OPERATOR_CONFIG_SCHEMA } from '../config.ts';
import { cliError, type CliContext } from '../context.ts';
import { examineDeployment } from '../doctor/examine-deployment.ts';
import { examineSources } from '../doctor/examine-sources.ts';
import { examineNetwork } from '../doctor/examine-network.ts';
import { jsonLines } from '../print-table.ts';
import { count, reportLines, type Section } from '../doctor/print-report.ts';

/** Changes no data. @throws GatewayError DOCTOR_FAILED when a check failed */
export async function examine(
  context: CliContext,
  file: string | undefined,
  options: { readonly chain?: string; readonly json?: boolean },
): Promise<void> {
  const chains = options.chain === undefined ? undefined : [options.chain];
  const networks = await chooseNetworks(context, chains, file);
  const settings = readConfig<
    Readonly<Partial<Record<'OPS_DATABASE_URL' | 'DATABASE_ADMIN_URL' | 'AMQP_URL', string>>>
  >(OPERATOR_CONFIG_SCHEMA, context.env);
  const deployment = await examineDeployment({
    databaseUrl: settings.OPS_DATABASE_URL ?? settings.DATABASE_ADMIN_URL,
    amqpUrl: settings.AMQP_URL,
  });
  const sections: readonly Section[] = [
    ...(await Promise.all(
      networks.map(async (network) => ({
        title: `${network.chain}: ${network.name}`,
        findings: [...(await examineNetwork(network, context.clock)), ...examineSources(network)],
      })),
    )),
    ...(deployment.length === 0 ? [] : [{ title: 'Deployment', findings: deployment }]),
  ];
  const [ok, warn, fail] = [count(sections, 'ok'), count(sections, 'warn'), count(sections, 'fail')];
  if (options.json === true) {
    for (const line of jsonLines({ ok, warn, fail, sections })) context.print(line);
  } else {
    for (const line of reportLines(sections)) context.print(line);
    context.print(`${ok} ok, ${warn} warn, ${fail} fail`);
  }
  if (fail === 0) return;
  const what = fail === 1 ? 'One check failed.' : `${fail} checks failed.`;
  throw cliError('DOCTOR_FAILED', what);
}
