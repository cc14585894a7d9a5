const s = "</script>";
