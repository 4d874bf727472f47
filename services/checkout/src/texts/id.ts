import type { Texts } from './en.ts';

export const id: Texts = {
  waiting: 'Menunggu pembayaran Anda',
  partial: 'Sebagian pembayaran telah tiba',
  checking: 'Memeriksa kabar terbaru',
  timeOver: 'Waktu pembayaran telah habis',
  reorganised: 'Jaringan sedang mengurutkan ulang pembayaran Anda',
  confirming: 'Pembayaran terlihat, menunggu konfirmasi',
  paid: 'Lunas. Terima kasih!',
  expired: 'Permintaan pembayaran ini telah kedaluwarsa',
  underpaid: 'Kedaluwarsa: jumlah yang tiba kurang',
  late: 'Kedaluwarsa: pembayaran Anda terlambat',
  failed: 'Pembayaran ini gagal',

  partialHint: '{received} dari {amount} telah tiba. Silakan kirim sisanya ke alamat yang sama.',
  checkingHint: 'Halaman ini sempat terhenti. Jangan kirim apa pun sampai halaman ini diperbarui lagi.',
  timeOverHint: 'Jangan kirim apa pun lagi. Jika sudah membayar, tunggu sebentar: jaringan masih diperiksa.',
  reorganisedHint:
    'Jangan kirim lagi. Jaringan sedang mengurutkan ulang bloknya; pembayaran Anda akan ditemukan di dalamnya secara otomatis.',
  confirmingHint:
    'Tidak ada lagi yang perlu dilakukan. Halaman ini boleh ditutup; toko akan diberi tahu secara otomatis.',
  finalHint: 'Jaringan sedang menjadikannya final, ini dapat memakan beberapa menit.',
  paidHint: 'Toko akan diberi tahu secara otomatis.',
  expiredHint: 'Jangan kirim apa pun lagi ke alamatnya. Kembali ke toko dan mulai pembayaran lagi.',
  underpaidHint:
    '{received} dari {amount} telah tiba. Sudah tercatat dan tidak hilang. Silakan hubungi toko dan sebutkan nomor pesanannya.',
  lateHint:
    'Yang Anda kirim telah tiba dan tercatat. Tidak hilang. Silakan hubungi toko dan sebutkan nomor pesanannya.',
  failedHint: 'Silakan hubungi toko dan sebutkan nomor pesanannya. Yang telah tiba sudah tercatat.',

  timeLeft: 'Sisa waktu',
  runningOut:
    'Pembayaran yang dikirim sekarang mungkin tiba terlambat. Jika Anda belum membayar, silakan mulai pembayaran lagi di toko.',
  amountDue: 'Jumlah yang dikirim',
  amountMissing: 'Masih harus dikirim',
  amountPaid: 'Jumlah',
  network: 'Jaringan',
  address: 'Alamat',
  warning:
    'Kirim hanya {symbol} lewat {chain}. Yang lain, atau koin yang sama lewat jaringan lain, dapat hilang.',
  codeOfPayment: 'Kode QR pembayaran: alamat, jumlah, dan jaringan',
  codeOfAddress: 'Kode QR alamat',
  withAmount: 'Dengan jumlah',
  addressOnly: 'Alamat saja',
  chooseCode: 'Isi kode QR',
  addressOnlyHint: 'Untuk bursa dan dompet yang tidak memahami kode dengan jumlah.',
  copyAmount: 'Salin jumlah',
  copyAddress: 'Salin alamat',
  copied: 'Tersalin',
  copyFailed: 'Tidak dapat menyalin. Silakan tandai lalu salin sendiri.',

  openWallet: 'Buka di aplikasi dompet',
  openIn: 'Buka di {wallet}',
  payWith: 'Bayar dengan {wallet}',
  walletAsked: 'Silakan konfirmasi di {wallet}.',
  walletSent: 'Terkirim. Begitu jaringan menampilkannya, Anda melihatnya di sini. Jangan membayar dua kali.',
  walletOverdue:
    'Pembayaran Anda belum tiba. Periksa di {wallet}: selama masih tertunda di sana, pembayaran masih bisa tiba. Bayar lagi hanya jika gagal atau dibatalkan.',
  walletReverted:
    'Pembayaran dari {wallet} gagal di jaringan: tidak ada yang dibayar selain biaya. Periksa hal ini di {wallet} sebelum membayar lagi.',
  walletRefused: 'Tidak dikonfirmasi di {wallet}. Tidak ada yang dikirim.',
  walletWrongNetwork: '{wallet} berada di jaringan lain. Pindahkan ke {chain} lalu coba lagi.',
  walletFailed: 'Belum pasti apakah {wallet} sudah mengirimnya. Periksa di {wallet} sebelum membayar lagi.',
  walletNotAsked:
    'Tidak ada jawaban dari server toko, jadi {wallet} tidak diminta membayar. Coba lagi sebentar lagi.',
  payAgain: 'Sudah saya periksa: tidak ada yang dibayar. Bayar lagi',
  walletNotReady: '{wallet} tidak menjawab. Tidak ada yang dikirim. Buka dan buka kuncinya, lalu coba lagi.',
  walletUnable: '{wallet} tidak dapat mengirim ini dari sini. Silakan bayar ke alamatnya.',

  order: 'Pesanan',
  received: 'Diterima',
  transaction: 'Transaksi',
  viewTransaction: 'Lihat di penjelajah blok',
  confirmations: 'Konfirmasi',
  countOf: '{count} dari {total}',
  stepSeen: 'Terlihat',
  stepConfirming: 'Dikonfirmasi',
  stepDone: 'Selesai',
  backToShop: 'Kembali ke toko',

  offline: 'Tidak ada koneksi. Mencoba lagi; yang Anda bayar tidak hilang.',
  language: 'Bahasa',
  loading: 'Memuat permintaan pembayaran',
  needsScript: 'Halaman ini memerlukan JavaScript.',
  tryAgain: 'Coba lagi',

  notFound: 'Pesanan tidak ditemukan',
  notFoundHint: 'Permintaan pembayaran seperti itu tidak ada.',
  linkNotValid: 'Tautan tidak sah',
  linkNotValidHint: 'Tautan pembayaran ini tidak sah. Silakan kembali ke toko.',
  tooManyRequests: 'Terlalu banyak permintaan',
  tooManyRequestsHint: 'Silakan coba lagi dalam beberapa detik.',
  notAvailable: 'Tidak tersedia',
  notAvailableHint: 'Silakan coba lagi sebentar lagi; yang Anda bayar tidak hilang.',
};
