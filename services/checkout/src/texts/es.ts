import type { Texts } from './en.ts';

export const es: Texts = {
  waiting: 'Esperando tu pago',
  partial: 'Ha llegado una parte del pago',
  checking: 'Comprobando las novedades',
  timeOver: 'El tiempo para pagar ha terminado',
  reorganised: 'La red está reordenando tu pago',
  confirming: 'Pago detectado, esperando confirmaciones',
  paid: 'Pagado. ¡Gracias!',
  expired: 'Esta solicitud de pago ha caducado',
  underpaid: 'Caducada: ha llegado una cantidad insuficiente',
  late: 'Caducada: tu pago llegó demasiado tarde',
  failed: 'Este pago ha fallado',

  payTo: 'Pagar a {merchant}',
  paymentRequest: 'Solicitud de pago',
  testNetwork: 'Red de prueba: no es dinero real',
  hostedBy: 'Página de pago de {host}',

  partialHint: 'Han llegado {received} de {amount}. Envía el resto a la misma dirección.',
  checkingHint: 'Esta página estaba en pausa. No envíes nada hasta que vuelva a estar al día.',
  timeOverHint:
    'No envíes nada más. Si ya has pagado, espera un momento: la red todavía se está comprobando.',
  reorganisedHint:
    'No lo envíes otra vez. La red está reordenando sus bloques; tu pago se encontrará en ellos automáticamente.',
  confirmingHint:
    'No tienes que hacer nada más. Puedes cerrar esta página; la tienda recibirá el aviso automáticamente.',
  finalHint: 'La red está haciendo definitivo el pago; puede tardar unos minutos.',
  paidHint: 'La tienda recibirá el aviso automáticamente.',
  tooMuchHint: 'Han llegado {amount} más que el precio. Está registrado; consulta a la tienda.',
  expiredHint: 'No envíes nada más a su dirección. Vuelve a la tienda y empieza el pago de nuevo.',
  underpaidHint:
    'Han llegado {received} de {amount}. Está registrado y no se ha perdido. Consulta a la tienda e indica el número de pedido.',
  lateHint:
    'Lo que enviaste ha llegado y está registrado. No se ha perdido. Consulta a la tienda e indica el número de pedido.',
  failedHint: 'Consulta a la tienda e indica el número de pedido. Lo que ha llegado está registrado.',

  unmatchedTitle: 'Ha llegado un pago que no cuenta',
  unmatchedToken: 'Han llegado {amount}. Este pedido espera {symbol}.',
  unmatchedChain: 'Han llegado {amount} por {chain}. Este pedido espera {symbol} por {expected}.',
  unmatchedLate: 'Han llegado {amount} fuera de plazo.',
  unmatchedShort: 'Han llegado {amount}, menos que el precio.',
  unmatchedAfter: 'Han llegado {amount} cuando el pedido ya estaba pagado.',
  unmatchedFailed: 'Han llegado {amount}. El pedido fue rechazado.',
  unmatchedHint:
    'Está registrado y no se ha perdido. No lo envíes otra vez: contacta con la tienda e indica el número de pedido.',

  timeLeft: 'Tiempo restante',
  tooLate: 'Demasiado tarde para este pago: empieza de nuevo',
  runningOut:
    'Un pago enviado ahora puede llegar demasiado tarde. Si aún no has pagado, empieza de nuevo en la tienda. Si ya has pagado, espera aquí.',
  amount: 'Importe',
  amountMissing: 'Falta por enviar',
  network: 'Red',
  address: 'Dirección',
  warning:
    'Envía solo {symbol} por {chain}. Cualquier otra cosa, o la misma moneda por otra red, puede perderse.',
  codeOfPayment: 'Código QR del pago: dirección, importe y red',
  codeOfAddress: 'Código QR de la dirección',
  showCode: 'Mostrar código QR',
  withAmount: 'Con importe',
  withAmountHint: 'Rellena el importe y la red. Los exchanges y algunos monederos pueden no entenderlo.',
  addressOnly: 'Solo dirección',
  addressOnlyHint: 'Cualquier monedero o exchange puede leerlo. Introduce el importe a mano.',
  chooseCode: 'Qué contiene el código QR',
  copyAmount: 'Copiar importe',
  copyAddress: 'Copiar dirección',
  copyOrder: 'Copiar número de pedido',
  copyTransaction: 'Copiar número de transacción',
  copied: 'Copiado',
  copyFailed: 'No se pudo copiar. Selecciónalo y cópialo a mano.',

  openWallet: 'Abrir en una app de monedero',
  openIn: 'Abrir en {wallet}',
  payWith: 'Pagar con {wallet}',
  walletAsked: 'Confirma en {wallet}.',
  walletSent: 'Enviado. En cuanto la red muestre tu pago, lo verás aquí. No pagues por segunda vez.',
  walletOverdue:
    'Tu pago aún no ha llegado. Mira en {wallet}: mientras siga pendiente allí, todavía puede llegar. Paga de nuevo solo si ha fallado o se ha cancelado.',
  walletReverted:
    'El pago de {wallet} ha fallado en la red: no se ha pagado nada salvo la comisión. Compruébalo en {wallet} antes de pagar de nuevo.',
  walletRefused: 'No se confirmó en {wallet}. No se ha enviado nada.',
  walletWrongNetwork: '{wallet} está en otra red. Cámbialo a {chain} e inténtalo de nuevo.',
  walletFailed: 'No es seguro que {wallet} haya enviado tu pago. Mira en {wallet} antes de pagar de nuevo.',
  walletNotAsked:
    'El servidor de la tienda no responde, así que no se ha pedido nada a {wallet}. Inténtalo de nuevo en un momento.',
  payAgain: 'Lo he comprobado: no se pagó nada. Pagar de nuevo',
  walletNotReady:
    '{wallet} no ha respondido. No se ha enviado nada. Ábrelo, desbloquéalo e inténtalo de nuevo.',
  walletUnable: '{wallet} no puede enviar esto desde aquí. Paga a la dirección.',

  order: 'Pedido',
  price: 'Precio',
  received: 'Recibido',
  tooMuch: 'De más',
  missing: 'Falta',
  transaction: 'Transacción',
  viewTransaction: 'Verla en el explorador de bloques',
  confirmations: 'Confirmaciones',
  countOf: '{count} de {total}',
  stepSeen: 'Detectado',
  stepConfirming: 'Confirmando',
  stepDone: 'Listo',
  backToShop: 'Volver a la tienda',
  contactShop: 'Contactar con la tienda',
  printReceipt: 'Imprimir el recibo',

  offline: 'Sin conexión. Se intenta de nuevo; lo que has pagado no se ha perdido.',
  language: 'Idioma',
  loading: 'Cargando la solicitud de pago',
  needsScript: 'Esta página necesita JavaScript.',
  tryAgain: 'Intentar de nuevo',

  notFound: 'Pedido no encontrado',
  notFoundHint: 'No existe esa solicitud de pago.',
  linkNotValid: 'Enlace no válido',
  linkNotValidHint:
    'Este enlace de pago no es válido. Vuelve a la tienda y ábrelo de nuevo. Si ya has pagado, indica a la tienda el número de pedido.',
  noPage: 'Página no encontrada',
  noPageHint: 'No hay ninguna página en esta dirección. Abre de nuevo el enlace de pago desde la tienda.',
  tooManyRequests: 'Demasiadas peticiones',
  tooManyRequestsHint: 'Espera un poco e inténtalo de nuevo en unos segundos.',
  notAvailable: 'No disponible',
  notAvailableHint: 'Inténtalo de nuevo en un momento; lo que has pagado no se ha perdido.',
};
